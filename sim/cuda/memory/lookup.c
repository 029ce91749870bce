/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups: in the arenas, and among the ranges of its own that the program registered. */
#include "lookup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"

/* Registered ranges, sorted by address; they never overlap. A range that goes is kept for the next
 * one: someone may still read it. */
static struct {
        pthread_rwlock_t lock;
        struct allocation **ranges;
        size_t count, capacity;
        _Atomic size_t visible;   /* count, readable without the lock */
        struct allocation *spare; /* linked through `owner` */
} registered = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* Index of the first range that ends behind the address. */
static size_t registered_index(CUdeviceptr address)
{
        size_t low = 0, high = registered.count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                struct allocation *range = registered.ranges[middle];
                if (range->base + range->size <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static struct allocation *registered_find(CUdeviceptr address)
{
        struct allocation *found = NULL;

        if (!atomic_load_explicit(&registered.visible, memory_order_acquire))
                return NULL;
        pthread_rwlock_rdlock(&registered.lock);
        size_t index = registered_index(address);
        if (index < registered.count && address >= registered.ranges[index]->base)
                found = registered.ranges[index];
        pthread_rwlock_unlock(&registered.lock);
        return found;
}

static CUresult registered_insert(struct allocation *range)
{
        size_t index = registered_index(range->base);

        if (index < registered.count && registered.ranges[index]->base < range->base + range->size)
                return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        if (registered.count == registered.capacity) {
                size_t capacity = registered.capacity ? 2 * registered.capacity : 64;
                void *grown = realloc(registered.ranges, capacity * sizeof *registered.ranges);
                if (!grown)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                registered.ranges = grown;
                registered.capacity = capacity;
        }
        memmove(&registered.ranges[index + 1], &registered.ranges[index],
                (registered.count - index) * sizeof *registered.ranges);
        registered.ranges[index] = range;
        registered.count++;
        atomic_store(&registered.visible, registered.count);
        return CUDA_SUCCESS;
}

static void row_remove(size_t index)
{
        registered.ranges[index]->owner = registered.spare;
        registered.spare = registered.ranges[index];
        registered.count--;
        memmove(&registered.ranges[index], &registered.ranges[index + 1],
                (registered.count - index) * sizeof *registered.ranges);
        atomic_store(&registered.visible, registered.count);
}

void registered_context_done(struct context *context)
{
        pthread_rwlock_wrlock(&registered.lock);
        for (size_t i = registered.count; i-- > 0;)
                if (registered.ranges[i]->context == context)
                        row_remove(i);
        pthread_rwlock_unlock(&registered.lock);
}

/* Space for a range; NULL: no memory. */
static struct allocation *spare_take(void)
{
        pthread_rwlock_wrlock(&registered.lock);
        struct allocation *range = registered.spare;
        if (range)
                registered.spare = range->owner;
        pthread_rwlock_unlock(&registered.lock);
        return range ? range : calloc(1, sizeof *range);
}

CUresult registered_add(const struct allocation *range)
{
        struct allocation *kept = spare_take();

        if (!kept)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *kept = *range;
        pthread_rwlock_wrlock(&registered.lock);
        CUresult r = registered_insert(kept);
        pthread_rwlock_unlock(&registered.lock);
        if (r != CUDA_SUCCESS)
                free(kept);
        return r;
}

void registered_remove(const struct allocation *range)
{
        pthread_rwlock_wrlock(&registered.lock);
        const size_t index = registered_index(range->base);
        if (index < registered.count && registered.ranges[index] == range)
                row_remove(index);
        pthread_rwlock_unlock(&registered.lock);
}

struct allocation *memory_find(CUdeviceptr address)
{
        struct piece *piece = arena_find(address);

        if (!piece)
                return registered_find(address);
        struct allocation *allocation = &piece->allocation;
        size_t size = atomic_load_explicit(&allocation->size, memory_order_acquire);
        if (address - allocation->base >= size || allocation->kind == MEMORY_ARRAY)
                return NULL;
        return allocation;
}
