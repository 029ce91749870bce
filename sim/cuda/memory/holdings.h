/* SPDX-License-Identifier: Apache-2.0 */
/* What a context holds in memory; gone with it. */
#pragma once

#include "heap.h"

struct array;
struct kernel_heap;
struct texture;

struct holdings {
        struct heap device;
        struct heap low;     /* for callers with 32-bit addresses */
        struct heap host;    /* cuMemHostAlloc */
        struct heap managed; /* not charged as such: residency is, page by page */
        struct heap arrays;  /* looked up by handle, not by address */
        struct heap kernel;  /* malloc in kernels; the context has paid for it */
        struct kernel_heap *kernel_heap;
};

/* Made on first use. NULL: no memory. */
struct holdings *context_holdings(struct context *context);
