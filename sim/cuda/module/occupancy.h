/* SPDX-License-Identifier: Apache-2.0 */
/* How many blocks of a kernel a multiprocessor holds at once. */
#pragma once

#include <stddef.h>

#include "machine_layout.h"

/* What one block takes. */
struct occupancy_need {
        unsigned threads;
        unsigned registers;   /* per thread */
        unsigned max_threads; /* of the kernel; 0: the device's limit */
        size_t static_bytes;  /* shared memory */
        size_t dynamic_bytes;
        size_t max_dynamic_bytes; /* as the kernel's attribute allows */
};

enum { OCCUPANCY_WARP = 32, OCCUPANCY_MAX_THREADS = 1024, OCCUPANCY_REGISTERS = 65536 };

/* 0: a block does not fit at all. */
unsigned occupancy_blocks(const struct machine_gpu *gpu, const struct occupancy_need *need);
/* The most dynamic shared memory that leaves space for `blocks` blocks; 0 when they do not fit. */
size_t occupancy_dynamic_bytes(const struct machine_gpu *gpu, const struct occupancy_need *need,
                               unsigned blocks);
/* Threads a block may have with so many registers each. */
unsigned occupancy_max_threads(unsigned registers);
