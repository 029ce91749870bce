/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_watch: the GPUs and their health, as they change. All calls to the driver are made by a thread of
 * its own: a driver that hangs makes the GPUs unhealthy and nothing else. */
#pragma once

#include "err.h"
#include "gpu.h"
#include "loop.h"
#include "vec.h"

struct gpu_watch;

struct gpu_watch_options {
        const char *exclude; /* as gpu.h has it */
        unsigned quiet_ms;   /* after a trouble, until a GPU counts again (60 s) */
        unsigned hang_ms;    /* without a sign of the driver, until it counts as hanging (30 s) */

        /* In the loop's thread; first when the driver has listed its GPUs, then at each change. */
        void (*on_change)(void *owner, const struct gpu_set *set);
        /* The driver was asked what its GPUs do, about once a second. NULL is fine. */
        void (*on_sample)(void *owner);
        /* There are no GPUs yet; it tries again. */
        void (*on_trouble)(void *owner, const struct err *e);
        void *owner;
};

int gpu_watch_new(struct loop *loop, const struct gpu_watch_options *options,
                  struct gpu_watch **ret_watch);
/* What the driver's thread saw last, use included; false: nothing yet. */
bool gpu_watch_read(struct gpu_watch *watch, struct gpu_set *ret_set);
/* Adds who was on the GPUs then, as struct gpu_process; when that was. */
uint64_t gpu_watch_processes(struct gpu_watch *watch, struct vec *ret_processes);
/* No more callbacks, but it can still be asked: others read it while they end. NULL is fine. */
void gpu_watch_quiet(struct gpu_watch *watch);
/* A thread that hangs in the driver is left behind: end the process soon. NULL is fine. */
void gpu_watch_free(struct gpu_watch *watch);
