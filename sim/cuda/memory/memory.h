/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of this process: addresses, contents, and what they cost on the GPU. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context.h"
#include "work.h"

enum memory_kind {
        MEMORY_DEVICE, /* cuMemAlloc, cuMemAllocPitch */
        MEMORY_MANAGED,
        MEMORY_POOL,       /* cuMemAllocAsync, cuMemAllocFromPoolAsync */
        MEMORY_MAPPED,     /* cuMemMap */
        MEMORY_HOST,       /* cuMemHostAlloc, cuMemAllocHost */
        MEMORY_REGISTERED, /* cuMemHostRegister */
        MEMORY_IMPORTED,   /* cuIpcOpenMemHandle, cuMemPoolImportPointer */
        MEMORY_GRAPH,      /* graph memory nodes */
        MEMORY_ARRAY,      /* the bytes of a CUarray */
};

struct page;
struct pool;

/* One allocation by address. */
struct allocation {
        CUdeviceptr base;
        _Atomic size_t size;  /* as asked; 0: freed */
        size_t charged_bytes; /* as taken from the GPU */
        enum memory_kind kind;
        unsigned flags;
        struct device *device;
        struct context *context;
        struct pool *pool;
        uint64_t buffer_id;  /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
        void *bytes;         /* the contents as the host reaches them */
        struct page *pages;  /* of those bytes; NULL: plain memory of the process */
        void *owner;         /* of the kind's own file */
        bool is_synchronous; /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
};

/* The allocation that contains the address, or NULL. Arrays are not found by address. */
struct allocation *memory_find(CUdeviceptr address);
/* True for memory that the host can use at its own address: host, registered, managed. */
static inline bool memory_is_on_host(const struct allocation *allocation)
{
        return allocation->kind == MEMORY_HOST || allocation->kind == MEMORY_REGISTERED;
}

/* Plain device memory for the driver's own use too (module variables). */
CUresult memory_alloc(struct context *context, size_t bytes, enum memory_kind kind,
                      CUdeviceptr *ret_address);
CUresult memory_free(CUdeviceptr address);

/* Contents for the interpreter and for copies: the host pointer for [address, address+length) and
 * the bounds of the valid range around it; NULL: illegal address. Signature of ptx_memory.resolve;
 * the closure is the struct context that runs. Host, registered and managed memory resolve too. */
void *memory_resolve(void *context, uint64_t address, size_t length, bool is_write,
                     uint64_t *ret_low, uint64_t *ret_high);

/* What a kernel that may touch the managed allocations among these parameter bytes costs in page
 * migration; moves them onto the device. Nanoseconds to add to its duration. */
uint64_t memory_touch(struct context *context, const void *params, size_t size);

/* The context goes: what it has allocated is freed. */
void memory_context_done(struct context *context);
