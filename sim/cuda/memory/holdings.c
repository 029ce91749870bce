/* SPDX-License-Identifier: Apache-2.0 */
/* What a context holds in memory: its heaps. */
#include "holdings.h"

#include <stdlib.h>

static void heap_init(struct heap *heap, struct context *context, enum arena_kind arena,
                      bool is_charged)
{
        *heap = (struct heap){
                .device = is_charged ? context->device : NULL,
                .context = context,
                .arena = arena,
        };
}

struct holdings *context_holdings(struct context *context)
{
        struct holdings *holdings = __atomic_load_n(&context->holdings, __ATOMIC_ACQUIRE);

        if (holdings)
                return holdings;
        arena_lock();
        if (!context->holdings && (holdings = calloc(1, sizeof *holdings))) {
                heap_init(&holdings->device, context, ARENA_DEVICE, true);
                heap_init(&holdings->low, context, ARENA_LOW, true);
                heap_init(&holdings->host, context, ARENA_DIRECT, false);
                heap_init(&holdings->managed, context, ARENA_MANAGED, false);
                holdings->managed.is_exclusive = true;
                heap_init(&holdings->arrays, context, ARENA_DEVICE, true);
                heap_init(&holdings->kernel, context, ARENA_DEVICE, false);
                __atomic_store_n(&context->holdings, holdings, __ATOMIC_RELEASE);
        }
        arena_unlock();
        return context->holdings;
}
