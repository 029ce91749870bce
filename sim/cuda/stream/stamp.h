/* SPDX-License-Identifier: Apache-2.0 */
/* When an operation ended, kept beyond its entry in the machine's ring. */
#pragma once

#include <stdint.h>

#include "timeline.h"

struct device;

struct stamp {
        machine_ref op;
        uint64_t end_ns; /* 0: still in the ring */
        unsigned references;
};

/* The caller serialises calls (work.c's lock). NULL: out of memory. */
struct stamp *stamp_take(struct device *device, machine_ref op);
void stamp_drop(struct stamp *stamp); /* NULL is fine */
/* Before an operation is submitted: saves the end of the one whose entry it takes. */
void stamp_save(struct device *device, enum machine_engine engine);
uint64_t stamp_end_ns(const struct stamp *stamp);
