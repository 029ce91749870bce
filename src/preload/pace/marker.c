/* SPDX-License-Identifier: Apache-2.0 */
/* marker: pools of events, one per context. */
#include "marker.h"

#include <string.h>

#include "clock.h"
#include "lock.h"

enum { POOLS = 64, SPARE = 64 };

struct marker_pool {
        uint64_t context; /* 0: free */
        unsigned device_index;
        unsigned count;
        CUevent spare[SPARE];
        /* Times are told from an event that passed: differences stay small, floats exact. */
        CUevent reference;
        int64_t reference_ns; /* in the device's time, which begins with the first reference */
        int64_t apart_ns;     /* device to host */
        bool is_compared;
        uint64_t compared_ns;
};

static struct {
        struct lock lock; /* of the rows, not of what is in them */
        struct marker_pool pools[POOLS];
} marker;

static struct marker_pool *pool_find(uint64_t context)
{
        for (unsigned i = 0; i < POOLS; i++)
                if (marker.pools[i].context == context)
                        return &marker.pools[i];
        return NULL;
}

struct marker_pool *marker_pool_of(uint64_t context, unsigned device_index)
{
        lock_take(&marker.lock);
        struct marker_pool *pool = pool_find(context);
        if (!pool) {
                pool = pool_find(0);
                if (pool)
                        *pool = (struct marker_pool){ .context = context,
                                                      .device_index = device_index };
        }
        lock_give(&marker.lock);
        return pool;
}

int marker_device_index(uint64_t context)
{
        lock_take(&marker.lock);
        struct marker_pool *pool = context ? pool_find(context) : NULL;
        int device_index = pool ? (int)pool->device_index : -1;
        lock_give(&marker.lock);
        return device_index;
}

void marker_pool_gone(uint64_t context)
{
        lock_take(&marker.lock);
        struct marker_pool *pool = pool_find(context);
        if (pool)
                pool->context = 0;
        lock_give(&marker.lock);
}

static CUevent event_make(uint64_t context)
{
        CUcontext wanted = (CUcontext)(uintptr_t)context, current = NULL, popped;
        CUevent event = NULL;

        real_cuda.cuCtxGetCurrent(&current);
        if (current != wanted && real_cuda.cuCtxPushCurrent_v2(wanted) != CUDA_SUCCESS)
                return NULL;
        if (real_cuda.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
                event = NULL;
        if (current != wanted)
                real_cuda.cuCtxPopCurrent_v2(&popped);
        return event;
}

CUevent marker_take(struct marker_pool *pool)
{
        return pool->count ? pool->spare[--pool->count] : event_make(pool->context);
}

void marker_give(struct marker_pool *pool, CUevent event)
{
        if (pool->count < SPARE)
                pool->spare[pool->count++] = event;
        else
                real_cuda.cuEventDestroy_v2(event);
}

static bool device_time(const struct marker_pool *pool, CUevent event, int64_t *ret_ns)
{
        float ms = 0;

        if (pool->reference &&
            real_cuda.cuEventElapsedTime(&ms, pool->reference, event) != CUDA_SUCCESS)
                return false;
        *ret_ns = pool->reference_ns + (int64_t)((double)ms * (double)NS_PER_MS);
        return true;
}

void marker_refer(struct marker_pool *pool, CUevent event)
{
        CUevent old = pool->reference;
        int64_t device_ns;

        if (!device_time(pool, event, &device_ns)) {
                marker_give(pool, event);
                return;
        }
        pool->reference = event;
        pool->reference_ns = device_ns;
        if (old)
                marker_give(pool, old);
}

/* Recorded on an idle stream, an event is reached at once: the first bound is near the truth. */
static void clocks_compare(struct marker_pool *pool, int64_t device_ns, uint64_t recorded_ns,
                           uint64_t seen_ns)
{
        int64_t least = (int64_t)recorded_ns - device_ns, most = (int64_t)seen_ns - device_ns;

        if (recorded_ns && (!pool->is_compared || least > pool->apart_ns))
                pool->apart_ns = least;
        pool->is_compared |= recorded_ns != 0;
        if (most < pool->apart_ns)
                pool->apart_ns = most;
}

bool marker_time_ns(struct marker_pool *pool, CUevent event, uint64_t recorded_ns, uint64_t seen_ns,
                    uint64_t *ret_ns)
{
        int64_t device_ns;

        if (!device_time(pool, event, &device_ns))
                return false;
        clocks_compare(pool, device_ns, recorded_ns, seen_ns);
        if (!pool->is_compared)
                return false;
        *ret_ns = (uint64_t)(device_ns + pool->apart_ns);
        return true;
}

void marker_is_compared(struct marker_pool *pool, uint64_t now_ns)
{
        pool->compared_ns = now_ns;
}

uint64_t marker_compared_ns(const struct marker_pool *pool)
{
        return pool->compared_ns;
}

bool marker_is_ready(const struct marker_pool *pool)
{
        return pool->reference != NULL;
}

void marker_forked(void)
{
        memset(&marker, 0, sizeof marker);
}
