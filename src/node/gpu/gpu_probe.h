/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_probe: the thread that talks to the driver. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "gpu.h"
#include "gpu_process.h"

struct gpu_probe {
        pthread_t thread;
        pthread_mutex_t lock; /* of set, has_set, e and processes */
        struct gpu_set set;
        struct vec processes; /* of struct gpu_process, as seen last */
        uint64_t sampled_ns;  /* when that was */
        struct err e;
        bool has_set;
        _Atomic uint64_t beat_ns;
        _Atomic bool is_ending, has_news; /* news: set or e are not as they were */
        int news_fd; /* an eventfd, written when there is something to take, and after each sample */
        const char *exclude;
        unsigned quiet_ms;
};

int gpu_probe_start(struct gpu_probe *probe, int news_fd, const char *exclude, unsigned quiet_ms);

/* true: a set; false: the sentence why there is none. */
bool gpu_probe_take(struct gpu_probe *probe, struct gpu_set *ret_set, struct err *ret_e);
/* Adds a copy of the processes as seen last to a vec of struct gpu_process; when that was. */
uint64_t gpu_probe_processes(struct gpu_probe *probe, struct vec *ret_processes);
uint64_t gpu_probe_beat_ns(struct gpu_probe *probe); /* the last sign of life */

/* false: it does not end; what it uses must stay. */
bool gpu_probe_stop(struct gpu_probe *probe, unsigned seconds);
