/* SPDX-License-Identifier: Apache-2.0 */
/* One allocation of this process, of whatever kind. */
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

/* True for memory that the host can use at its own address: host, registered, managed. */
static inline bool memory_is_on_host(const struct allocation *allocation)
{
        return allocation->kind == MEMORY_HOST || allocation->kind == MEMORY_REGISTERED;
}
