/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: stream-ordered allocation. */
#pragma once

#include "cuda_memory_types.h"
#include "heap.h"

#define POOL_MAGIC UINT32_C(0x6c6f6f70)

/* Freed on a stream that has not come to that point: nobody else may use the bytes yet. */
struct pool_pending {
        struct allocation *allocation;
        struct stream *stream;
        struct mark mark;
        struct pool_pending *next;
};

struct pool {
        uint32_t magic;
        struct device *device;
        CUmemPoolProps props;
        bool is_default;
        bool is_gone; /* destroyed, but memory of it is still in use */
        bool is_imported;
        struct heap heap;
        struct pool_pending *pending, **pending_end;
        uint64_t threshold_bytes;
        int reuse[3];              /* the first three attributes */
        uint64_t readers, writers; /* devices, one bit each */
        uint64_t export_number;    /* of it, or of the pool it imports; 0: not exported */
        struct pool *next;
};

/* NULL: `handle` is no pool. */
struct pool *pool_get(CUmemoryPool handle);
/* The device's default pool, made on first use; NULL: no memory. */
struct pool *pool_default(struct device *device);
CUresult pool_new(struct device *device, const CUmemPoolProps *props, struct pool **ret_pool);
CUresult pool_destroy(struct pool *pool);

/* Stream-ordered: reuses what was freed earlier on the same stream at once. */
CUresult pool_alloc(struct pool *pool, size_t bytes, struct stream *stream,
                    CUdeviceptr *ret_address);
/* `stream` NULL: at once. */
CUresult pool_free_on(struct allocation *allocation, struct stream *stream);
CUresult pool_free(struct allocation *allocation);
void pool_trim(struct pool *pool, uint64_t keep_bytes);

/* The context goes, and what it took from pools. */
void pool_context_done(struct context *context);
/* Gives back all that the device's pools keep without need. True: it may be worth trying again. */
bool pool_reclaim(struct device *device);
/* True: the pool lets the device use its memory so. */
bool pool_allows(const struct pool *pool, const struct device *device, bool is_write);
