/* Device memory of this process: addresses, contents, and what they cost on the card. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context.h"
#include "work.h"

enum memory_kind {
        MEMORY_DEVICE,                  /* cuMemAlloc, cuMemAllocPitch */
        MEMORY_MANAGED,
        MEMORY_POOL,                    /* cuMemAllocAsync, cuMemAllocFromPoolAsync */
        MEMORY_MAPPED,                  /* cuMemMap */
        MEMORY_HOST,                    /* cuMemHostAlloc, cuMemAllocHost */
        MEMORY_REGISTERED,              /* cuMemHostRegister */
        MEMORY_IMPORTED,                /* cuIpcOpenMemHandle */
        MEMORY_GRAPH,                   /* graph memory nodes */
};

/* One allocation by address. */
struct allocation {
        CUdeviceptr base;
        size_t size;                    /* as asked */
        size_t charged_bytes;           /* as taken from the card */
        enum memory_kind kind;
        unsigned flags;
        struct device *device;
        struct context *context;
        struct pool *pool;
        uint64_t buffer_id;             /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
        void *bytes;                    /* the contents as the host reaches them */
        void *owner;                    /* of the kind's own file */
};

/* The allocation that contains the address, or NULL. */
struct allocation *memory_find(CUdeviceptr address);

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
