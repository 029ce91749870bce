/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_names: the GPUs of this node by UUID, without the driver's library: a container should not
 * wait for it. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "share_layout.h"

struct gpu_name {
        char uuid[SHARE_UUID];
        uint64_t device_bytes; /* 0: not known */
};

struct gpu_names {
        unsigned count;
        struct gpu_name gpus[SHARE_DEVICES];
};

/* Of the machine file, or, if that is NULL, of the kernel's driver, in the driver's order. -ENODEV:
 * there is none. */
int gpu_names_read(const char *machine, struct gpu_names *ret_names, struct err *e);

/* Those that a list of numbers and UUIDs, "all" or "" names. -EINVAL: it names one that is not
 * there. */
int gpu_names_choose(const struct gpu_names *names, const char *list, struct gpu_names *ret_chosen,
                     struct err *e);
