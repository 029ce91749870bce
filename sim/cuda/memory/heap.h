/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps: memory of one owner (a context, a pool), taken from the GPU in areas of whole pages and
 * cut into allocations. Small requests share pages, as on hardware. */
#pragma once

#include "arena.h"

#define HEAP_SMALL_BYTES (UINT64_C(1) << 20) /* above: pages of its own */
#define HEAP_MOST_BYTES  (UINT64_C(1) << 40) /* above: no GPU, and no address space */

/* Pages that were taken from the GPU at once. */
struct area {
        struct heap *heap;
        struct piece *run;   /* the pages */
        struct piece *first; /* the first of the pieces it is cut into */
        struct area *next, *previous;
        uint64_t file_number; /* ≠ 0: its contents are in this shared file … */
        uint32_t file_index;  /* … whose row in the machine is here */
};

struct heap {
        struct device *device; /* whose GPU pays; NULL: the host does */
        struct context *context;
        struct pool *pool; /* ≠ NULL: areas are shared by all sizes and stay when empty */
        enum arena_kind arena;
        bool is_exclusive; /* small requests get pages of their own too */
        struct carve carve;
        struct area *areas;
        uint64_t reserved_bytes, reserved_high_bytes;
        uint64_t used_bytes, used_high_bytes;
};

/* OUT_OF_MEMORY: the GPU, or the address space, is full. All take the arena's lock. */
CUresult heap_alloc(struct heap *heap, size_t bytes, enum memory_kind kind,
                    struct allocation **ret_allocation);
void heap_free(struct allocation *allocation);
/* The same in two steps: nobody finds it any more; then its bytes may be used again. */
void heap_retire(struct allocation *allocation);
void heap_reclaim(struct allocation *allocation);
/* Uses the bytes of a retired allocation for a new one that is not larger. What is left over is
 * retired memory too, or NULL. */
CUresult heap_revive(struct allocation *allocation, size_t bytes, enum memory_kind kind,
                     struct allocation **ret_remainder);
/* Bytes of the piece that an allocation lies in. */
size_t heap_capacity(const struct allocation *allocation);
/* Frees the allocations that a context made. */
void heap_free_of(struct heap *heap, const struct context *context);
/* Frees everything. */
void heap_done(struct heap *heap);
/* Gives back empty areas while more than `keep_bytes` are reserved. */
void heap_trim(struct heap *heap, uint64_t keep_bytes);

struct area *area_of(const struct allocation *allocation);
/* A new CU_POINTER_ATTRIBUTE_BUFFER_ID. */
uint64_t allocation_number_next(void);
