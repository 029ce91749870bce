/* SPDX-License-Identifier: Apache-2.0 */
/* One launch, shared by its workers: fate, budget, clock. */
#pragma once

#include "ptx_warp.h"

static inline bool run_is_stopped(const struct run *run)
{
        return __atomic_load_n(&run->is_stopped, __ATOMIC_RELAXED);
}

/* Adds the worker's instructions; stops the launch over its budget or when it is cancelled. */
void run_count(struct run *run, struct worker *worker, struct block *block);

/* Hands text to the launch's printer, one thread at a time. */
void run_print(struct run *run, const char *text, size_t length);
void run_complain(struct run *run, const char *text, size_t length);
