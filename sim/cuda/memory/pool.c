/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: what is freed stays with the pool until it is used again or trimmed. */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "sync_point.h"

enum { POOL_SEARCH = 64 };

/* Guards the list, each pool's pending frees and attributes. Taken before the arena's lock. */
static struct {
        pthread_mutex_t lock;
        struct pool *first;
        _Atomic bool is_used; /* some pool has ever held memory */
} pools = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct pool *pool_get(CUmemoryPool handle)
{
        struct pool *pool = (struct pool *)handle;

        if (!pool || (uintptr_t)pool % _Alignof(struct pool) || pool->magic != POOL_MAGIC ||
            pool->is_gone)
                return NULL;
        return pool;
}

static struct pool *pool_make(struct device *device, const CUmemPoolProps *props)
{
        struct pool *pool = calloc(1, sizeof *pool);

        if (!pool)
                return NULL;
        pool->magic = POOL_MAGIC;
        pool->device = device;
        pool->props = *props;
        pool->heap = (struct heap){ .device = device, .pool = pool, .arena = ARENA_DEVICE };
        pool->pending_end = &pool->pending;
        pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
        pool->readers = pool->writers = UINT64_C(1) << device->ordinal;
        pool->next = pools.first;
        pools.first = pool;
        return pool;
}

CUresult pool_new(struct device *device, const CUmemPoolProps *props, struct pool **ret_pool)
{
        pthread_mutex_lock(&pools.lock);
        struct pool *pool = pool_make(device, props);
        pthread_mutex_unlock(&pools.lock);
        if (!pool)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret_pool = pool;
        return CUDA_SUCCESS;
}

struct pool *pool_default(struct device *device)
{
        CUmemPoolProps props = {
                .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->ordinal },
        };

        pthread_mutex_lock(&pools.lock);
        if (!device->default_pool) {
                device->default_pool = pool_make(device, &props);
                if (device->default_pool)
                        device->default_pool->is_default = true;
                if (!device->current_pool)
                        device->current_pool = device->default_pool;
        }
        pthread_mutex_unlock(&pools.lock);
        return device->default_pool;
}

/* Takes an entry out of the list; the caller has its allocation. */
static void pending_remove(struct pool *pool, struct pool_pending **link)
{
        struct pool_pending *entry = *link;

        *link = entry->next;
        if (!entry->next)
                pool->pending_end = link;
        mark_done(&entry->mark);
        free(entry);
}

/* Frees whose stream has passed them. Old ones come first: after some that are not passed it is not
 * worth searching further. */
static void pool_collect(struct pool *pool)
{
        struct pool_pending **link = &pool->pending;

        for (unsigned waiting = 0; *link && waiting < POOL_SEARCH;) {
                struct allocation *allocation = (*link)->allocation;
                if (!mark_is_passed(&(*link)->mark)) {
                        link = &(*link)->next;
                        waiting++;
                        continue;
                }
                pending_remove(pool, link);
                heap_reclaim(allocation);
        }
}

static bool pending_add(struct pool *pool, struct allocation *allocation, struct stream *stream,
                        const struct mark *mark)
{
        struct pool_pending *entry = calloc(1, sizeof *entry);

        if (!entry)
                return false;
        entry->allocation = allocation;
        entry->stream = stream;
        mark_copy(&entry->mark, mark);
        *pool->pending_end = entry;
        pool->pending_end = &entry->next;
        return true;
}

/* Memory freed earlier on the same stream: the stream's order makes it safe to use again. */
static CUresult pool_reuse(struct pool *pool, size_t bytes, struct stream *stream,
                           struct allocation **ret_allocation)
{
        struct pool_pending **link = &pool->pending;
        struct allocation *remainder;

        for (unsigned i = 0; *link && i < 4 * POOL_SEARCH; i++, link = &(*link)->next) {
                struct allocation *allocation = (*link)->allocation;
                if ((*link)->stream != stream || heap_capacity(allocation) < bytes)
                        continue;
                struct mark mark;
                mark_copy(&mark, &(*link)->mark);
                pending_remove(pool, link);
                CUresult r = heap_revive(allocation, bytes, MEMORY_POOL, &remainder);
                if (remainder && !pending_add(pool, remainder, stream, &mark))
                        heap_reclaim(remainder);
                mark_done(&mark);
                *ret_allocation = allocation;
                return r;
        }
        return CUDA_ERROR_NOT_FOUND;
}

/* The GPU is full: what was freed but is still in use on its stream is worth waiting for. */
static bool pool_wait(struct pool *pool)
{
        struct mark mark;

        if (!pool->pending)
                return false;
        mark_copy(&mark, &pool->pending->mark);
        pthread_mutex_unlock(&pools.lock);
        CUresult r = mark_wait(&mark);
        mark_done(&mark);
        pthread_mutex_lock(&pools.lock);
        pool_collect(pool);
        return r == CUDA_SUCCESS;
}

static CUresult pool_grow(struct pool *pool, size_t bytes, struct allocation **ret_allocation)
{
        CUresult r = heap_alloc(&pool->heap, bytes, MEMORY_POOL, ret_allocation);

        while (r == CUDA_ERROR_OUT_OF_MEMORY && pool_wait(pool))
                r = heap_alloc(&pool->heap, bytes, MEMORY_POOL, ret_allocation);
        if (r != CUDA_ERROR_OUT_OF_MEMORY)
                return r;
        for (struct pool *other = pools.first; other; other = other->next)
                if (other->device == pool->device)
                        heap_trim(&other->heap, 0);
        return heap_alloc(&pool->heap, bytes, MEMORY_POOL, ret_allocation);
}

CUresult pool_alloc(struct pool *pool, size_t bytes, struct stream *stream,
                    CUdeviceptr *ret_address)
{
        struct allocation *allocation;

        if (!bytes)
                return CUDA_ERROR_INVALID_VALUE;
        if (pool->is_imported)
                return CUDA_ERROR_INVALID_VALUE;
        if (bytes > HEAP_MOST_BYTES)
                return CUDA_ERROR_OUT_OF_MEMORY;
        pthread_mutex_lock(&pools.lock);
        atomic_store(&pools.is_used, true);
        pool_collect(pool);
        CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
        if (!pool->props.maxSize || pool->heap.used_bytes + bytes <= pool->props.maxSize)
                r = pool_reuse(pool, bytes, stream, &allocation);
        if (r == CUDA_ERROR_NOT_FOUND)
                r = pool_grow(pool, bytes, &allocation);
        if (r == CUDA_SUCCESS) {
                allocation->context = stream->context;
                *ret_address = allocation->base;
        }
        pthread_mutex_unlock(&pools.lock);
        return r;
}

/* A destroyed pool goes with its last allocation. */
static void pool_settle(struct pool *pool)
{
        if (!pool->is_gone || pool->heap.used_bytes || pool->pending)
                return;
        for (struct pool **link = &pools.first; *link; link = &(*link)->next)
                if (*link == pool) {
                        *link = pool->next;
                        break;
                }
        heap_done(&pool->heap);
        pool->magic = 0;
        free(pool);
}

CUresult pool_free_on(struct allocation *allocation, struct stream *stream)
{
        struct pool *pool = allocation->pool;
        struct mark mark = { 0 };

        if (stream)
                work_mark(stream, &mark);
        pthread_mutex_lock(&pools.lock);
        heap_retire(allocation);
        if (!stream || mark_is_passed(&mark) || !pending_add(pool, allocation, stream, &mark))
                heap_reclaim(allocation);
        pool_settle(pool);
        pthread_mutex_unlock(&pools.lock);
        mark_done(&mark);
        return CUDA_SUCCESS;
}

CUresult pool_free(struct allocation *allocation)
{
        return pool_free_on(allocation, NULL);
}

CUresult pool_destroy(struct pool *pool)
{
        pthread_mutex_lock(&pools.lock);
        pool->is_gone = true;
        if (pool->device->current_pool == pool)
                pool->device->current_pool = pool->device->default_pool;
        pool_collect(pool);
        heap_trim(&pool->heap, 0);
        pool_settle(pool);
        pthread_mutex_unlock(&pools.lock);
        return CUDA_SUCCESS;
}

void pool_trim(struct pool *pool, uint64_t keep_bytes)
{
        pthread_mutex_lock(&pools.lock);
        pool_collect(pool);
        heap_trim(&pool->heap, keep_bytes);
        pthread_mutex_unlock(&pools.lock);
}

void pool_context_done(struct context *context)
{
        struct pool *next;

        if (!atomic_load(&pools.is_used))
                return;
        pthread_mutex_lock(&pools.lock);
        for (struct pool *pool = pools.first; pool; pool = next) {
                next = pool->next;
                heap_free_of(&pool->heap, context);
                pool_collect(pool);
                heap_trim(&pool->heap, pool->threshold_bytes);
                pool_settle(pool);
        }
        pthread_mutex_unlock(&pools.lock);
}

bool pool_reclaim(struct device *device)
{
        bool has_changed = false;

        if (!atomic_load(&pools.is_used))
                return false;
        pthread_mutex_lock(&pools.lock);
        for (struct pool *pool = pools.first; pool; pool = pool->next) {
                uint64_t before = pool->heap.reserved_bytes;
                if (pool->device != device)
                        continue;
                pool_collect(pool);
                heap_trim(&pool->heap, 0);
                has_changed |= pool->heap.reserved_bytes < before;
        }
        pthread_mutex_unlock(&pools.lock);
        return has_changed;
}

void sync_point_reached(void)
{
        struct pool *next;

        if (!atomic_load_explicit(&pools.is_used, memory_order_relaxed))
                return;
        pthread_mutex_lock(&pools.lock);
        for (struct pool *pool = pools.first; pool; pool = next) {
                next = pool->next;
                pool_collect(pool);
                if (pool->heap.reserved_bytes > pool->threshold_bytes)
                        heap_trim(&pool->heap, pool->threshold_bytes);
                pool_settle(pool);
        }
        pthread_mutex_unlock(&pools.lock);
}

bool pool_allows(const struct pool *pool, const struct device *device, bool is_write)
{
        return (is_write ? pool->writers : pool->readers) >> device->ordinal & 1;
}
