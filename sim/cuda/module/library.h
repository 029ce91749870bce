/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries: programs that load themselves into every context that uses them. */
#pragma once

#include <pthread.h>

#include "kernel.h"
#include "module.h"
#include "program.h"

#define LIBRARY_MAGIC UINT32_C(0x7262696c)

struct library {
        uint32_t magic;          /* 0 while in the pool */
        struct program *program; /* counted */
        struct kernel **kernels; /* as the program's */
        /* Guards what follows; held while a module is being made, so that there is one only. */
        pthread_mutex_t lock;
        struct module **modules; /* one per context that used it */
        size_t module_count;
        struct library *next; /* in the list of all, or in the pool */
};

/* The context goes: libraries forget its modules, which module_context_done() frees. */
void library_context_done(const struct context *context);
/* The kernel's function on the current context; loads its library there if need be. */
CUresult kernel_function(struct kernel *kernel, struct function **ret_function);
