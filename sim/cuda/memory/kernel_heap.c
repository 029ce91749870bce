/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of malloc() in kernels. Its sizes lie beside it: a kernel that writes too far breaks its
 * own blocks and never the simulator. */
#include "kernel_heap.h"

#include <pthread.h>
#include <stdlib.h>

#include "heap.h"
#include "holdings.h"
#include "scope.h"

enum {
        UNIT = 16, /* bytes; malloc's alignment */
        TAG_USED = 1,
        TAG_START = 2,
        TAG_SHIFT = 2,
};

/* A block of units has its tag at its first and its last unit. Unit 0 is never given away: no block
 * has the address of the whole, which cuMemFree would take. */
struct kernel_heap {
        CUdeviceptr base;
        uint64_t units;
        uint64_t next;          /* the block where the next search starts */
        uint64_t refused_units; /* so much was not found since the last free */
        uint64_t tags[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t block_units(const struct kernel_heap *heap, uint64_t at)
{
        return heap->tags[at] >> TAG_SHIFT;
}

static bool block_is_used(const struct kernel_heap *heap, uint64_t at)
{
        return heap->tags[at] & TAG_USED;
}

static void block_write(struct kernel_heap *heap, uint64_t at, uint64_t units, bool is_used)
{
        uint64_t tag = units << TAG_SHIFT | (is_used ? TAG_USED : 0);

        heap->tags[at + units - 1] = tag;
        heap->tags[at] = tag | TAG_START;
}

static void block_forget(struct kernel_heap *heap, uint64_t at)
{
        uint64_t last = at + block_units(heap, at) - 1;

        heap->tags[at] = 0;
        heap->tags[last] = 0;
}

/* The heap, made at the first malloc: later changes of the limit do not reach it, as the driver
 * refuses them once a kernel with malloc is loaded. The context has paid for it already. */
static struct kernel_heap *heap_of_context(struct context *context)
{
        struct holdings *holdings = context_holdings(context);
        uint64_t units = context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] / UNIT;
        struct allocation *allocation;

        if (!holdings || holdings->kernel_heap || units < 2)
                return holdings ? holdings->kernel_heap : NULL;
        struct kernel_heap *heap = calloc(1, sizeof *heap + units * sizeof *heap->tags);
        if (!heap)
                return NULL;
        if (heap_alloc(&holdings->kernel, units * UNIT, MEMORY_DEVICE, &allocation) !=
            CUDA_SUCCESS) {
                free(heap);
                return NULL;
        }
        allocation->device = context->device;
        heap->base = allocation->base;
        heap->units = units;
        heap->next = 1;
        heap->refused_units = UINT64_MAX;
        block_write(heap, 0, 1, true);
        block_write(heap, 1, units - 1, false);
        holdings->kernel_heap = heap;
        return heap;
}

/* The next free block that is large enough, going round once; 0: none. */
static uint64_t block_search(const struct kernel_heap *heap, uint64_t units)
{
        uint64_t at = heap->next;

        do {
                if (!block_is_used(heap, at) && block_units(heap, at) >= units)
                        return at;
                at += block_units(heap, at);
                if (at >= heap->units)
                        at = 1;
        } while (at != heap->next);
        return 0;
}

uint64_t kernel_heap_alloc(struct context *context, uint64_t bytes)
{
        autounlock pthread_mutex_t *held = scope_lock(&lock);
        struct kernel_heap *heap = heap_of_context(context);

        if (!heap || !bytes || bytes > heap->units * UNIT)
                return 0;
        uint64_t units = (bytes + UNIT - 1) / UNIT;
        uint64_t at = units < heap->refused_units ? block_search(heap, units) : 0;
        if (!at) {
                if (units < heap->refused_units)
                        heap->refused_units = units;
                return 0;
        }
        uint64_t remainder = block_units(heap, at) - units;
        block_forget(heap, at);
        block_write(heap, at, units, true);
        if (remainder)
                block_write(heap, at + units, remainder, false);
        heap->next = at + units < heap->units ? at + units : 1;
        return heap->base + at * UNIT;
}

/* Joins a free block with the free ones beside it. */
static void block_join(struct kernel_heap *heap, uint64_t at)
{
        uint64_t units = block_units(heap, at), after = at + units;

        block_forget(heap, at);
        if (after < heap->units && !block_is_used(heap, after)) {
                units += block_units(heap, after);
                block_forget(heap, after);
        }
        if (!block_is_used(heap, at - 1)) {
                uint64_t before = block_units(heap, at - 1);
                at -= before;
                units += before;
                block_forget(heap, at);
        }
        block_write(heap, at, units, false);
        heap->next = at;
}

bool kernel_heap_free(struct context *context, uint64_t address)
{
        autounlock pthread_mutex_t *held = scope_lock(&lock);
        struct holdings *holdings = context_holdings(context);
        struct kernel_heap *heap = holdings ? holdings->kernel_heap : NULL;

        if (!heap || address < heap->base + UNIT || (address - heap->base) % UNIT ||
            (address - heap->base) / UNIT >= heap->units)
                return false;
        uint64_t at = (address - heap->base) / UNIT;
        if ((heap->tags[at] & (TAG_START | TAG_USED)) != (TAG_START | TAG_USED))
                return false;
        block_join(heap, at);
        heap->refused_units = UINT64_MAX;
        return true;
}

void kernel_heap_done(struct kernel_heap *heap)
{
        free(heap);
}
