/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a library: context-independent handles that become functions where they run. */
#pragma once

#include <stdbool.h>

#include "context.h"
#include "function.h"

struct library;
struct program_kernel;

#define KERNEL_MAGIC UINT32_C(0x6e72656b)

/* A CUkernel. Pooled, never freed. */
struct kernel {
        uint32_t magic; /* first, as in struct function: a CUfunction may be one */
        struct library *library;
        const struct program_kernel *program;
        size_t index; /* in the program */
        _Atomic int (*settings)
                [CU_FUNC_ATTRIBUTE_MAX]; /* by device ordinal; NULL: nobody set anything */
        struct kernel *next;             /* in the pool */
};

/* NULL: `handle` is no living kernel. */
struct kernel *kernel_get(CUkernel handle);

struct kernel *kernel_new(struct library *library, const struct program_kernel *program,
                          size_t index);
void kernel_free(struct kernel *kernel); /* NULL is fine */
