/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of malloc() in kernels: one block per context, as large as its limit says. */
#pragma once

#include "context.h"

struct kernel_heap;

/* Both may be called from several threads. 0: no space, or nothing asked for. */
uint64_t kernel_heap_alloc(struct context *context, uint64_t bytes);
/* False: the address is no block in use. */
bool kernel_heap_free(struct context *context, uint64_t address);
void kernel_heap_done(struct kernel_heap *heap); /* NULL is fine; its block is the holdings' */
