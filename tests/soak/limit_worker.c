/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes do: take and give memory of every kind, and contexts. */
#include <stdlib.h>
#include <unistd.h>

#include "cuda_prototypes.h"
#include "limit.h"

enum { HELD = 12, ATTACH_GLOBAL = 1 };

struct held {
        CUdeviceptr buffer; /* 0: nothing is held here */
        CUmemGenericAllocationHandle handle;
        size_t bytes;
        unsigned kind;
};

struct tenant {
        struct limit_shared *shared;
        CUcontext context;
        CUstream stream;
        struct held held[HELD];
        unsigned seed;
};

static CUresult plain_take(struct tenant *tenant, struct held *held)
{
        (void)tenant;
        return cuMemAlloc_v2(&held->buffer, held->bytes);
}

static CUresult pitch_take(struct tenant *tenant, struct held *held)
{
        size_t pitch;

        (void)tenant;
        return cuMemAllocPitch_v2(&held->buffer, &pitch, 700, held->bytes / 1024 + 1, 4);
}

static CUresult async_take(struct tenant *tenant, struct held *held)
{
        return cuMemAllocAsync(&held->buffer, held->bytes, tenant->stream);
}

/* Brought onto the GPU at once. */
static CUresult managed_take(struct tenant *tenant, struct held *held)
{
        CUresult r = cuMemAllocManaged(&held->buffer, held->bytes, ATTACH_GLOBAL);

        if (r == CUDA_SUCCESS)
                r = cuMemPrefetchAsync(held->buffer, held->bytes, 0, tenant->stream);
        return r == CUDA_SUCCESS ? cuStreamSynchronize(tenant->stream) : r;
}

static CUresult plain_give(struct tenant *tenant, struct held *held)
{
        (void)tenant;
        return cuMemFree_v2(held->buffer);
}

static CUresult async_give(struct tenant *tenant, struct held *held)
{
        CUresult r = cuMemFreeAsync(held->buffer, tenant->stream);

        return r == CUDA_SUCCESS ? cuStreamSynchronize(tenant->stream) : r;
}

/* Physical memory: mapped, its handle given up at once; it lives by the mapping. */
static CUresult vmm_take(struct tenant *tenant, struct held *held)
{
        const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };

        (void)tenant;
        held->bytes = (held->bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
        CUresult r = cuMemCreate(&held->handle, held->bytes, &prop, 0);
        if (r != CUDA_SUCCESS)
                return r;
        r = cuMemAddressReserve(&held->buffer, held->bytes, 0, 0, 0);
        if (r == CUDA_SUCCESS)
                r = cuMemMap(held->buffer, held->bytes, 0, held->handle, 0);
        cuMemRelease(held->handle);
        return r;
}

static CUresult vmm_give(struct tenant *tenant, struct held *held)
{
        CUresult r = cuMemUnmap(held->buffer, held->bytes);

        (void)tenant;
        return r == CUDA_SUCCESS ? cuMemAddressFree(held->buffer, held->bytes) : r;
}

static CUresult array_take(struct tenant *tenant, struct held *held)
{
        const CUDA_ARRAY_DESCRIPTOR descriptor = { .Width = 1024,
                                                   .Height = held->bytes / 4096 + 1,
                                                   .Format = CU_AD_FORMAT_FLOAT,
                                                   .NumChannels = 1 };
        CUarray array = NULL;
        CUresult r = cuArrayCreate_v2(&array, &descriptor);

        (void)tenant;
        held->buffer = (CUdeviceptr)(uintptr_t)array;
        return r;
}

static CUresult array_give(struct tenant *tenant, struct held *held)
{
        (void)tenant;
        return cuArrayDestroy((CUarray)(uintptr_t)held->buffer);
}

static CUresult context_take(struct tenant *tenant, struct held *held)
{
        CUcontext context = NULL;
        CUresult r = cuCtxCreate_v2(&context, 0, 0);

        (void)tenant;
        held->buffer = (CUdeviceptr)(uintptr_t)context;
        if (r == CUDA_SUCCESS)
                cuCtxPopCurrent_v2(&context);
        return r;
}

static CUresult context_give(struct tenant *tenant, struct held *held)
{
        (void)tenant;
        return cuCtxDestroy_v2((CUcontext)(uintptr_t)held->buffer);
}

static const struct kind {
        const char *name;
        CUresult (*take)(struct tenant *tenant, struct held *held);
        CUresult (*give)(struct tenant *tenant, struct held *held);
} kinds[LIMIT_KINDS] = {
        { "plain", plain_take, plain_give },       { "pitch", pitch_take, plain_give },
        { "async", async_take, async_give },       { "managed", managed_take, plain_give },
        { "physical", vmm_take, vmm_give },        { "array", array_take, array_give },
        { "context", context_take, context_give },
};

const char *limit_kind_name(unsigned kind)
{
        return kinds[kind].name;
}

static unsigned chance(struct tenant *tenant, unsigned sides)
{
        return (unsigned)rand_r(&tenant->seed) % sides;
}

static void tenant_take(struct tenant *tenant, struct held *held)
{
        held->kind = chance(tenant, LIMIT_KINDS);
        held->bytes = ((size_t)1024 << chance(tenant, 15)) + chance(tenant, 1000);
        CUresult r = kinds[held->kind].take(tenant, held);
        if (r == CUDA_SUCCESS)
                tenant->shared->taken[held->kind]++;
        else
                held->buffer = 0;
        if (r == CUDA_ERROR_OUT_OF_MEMORY)
                tenant->shared->refused[held->kind]++;
        else if (r != CUDA_SUCCESS)
                tenant->shared->wrong++;
}

static void tenant_give(struct tenant *tenant, struct held *held)
{
        if (kinds[held->kind].give(tenant, held) != CUDA_SUCCESS)
                tenant->shared->wrong++;
        held->buffer = 0;
}

static void tenant_step(struct tenant *tenant)
{
        struct held *held = &tenant->held[chance(tenant, HELD)];

        if (held->buffer)
                tenant_give(tenant, held);
        else
                tenant_take(tenant, held);
}

/* The container may be full for a moment. */
static void tenant_start(struct tenant *tenant)
{
        CUresult r = cuInit(0);

        while (r == CUDA_SUCCESS && !tenant->context && !tenant->shared->is_over) {
                CUresult created = cuCtxCreate_v2(&tenant->context, 0, 0);
                if (created == CUDA_ERROR_OUT_OF_MEMORY)
                        usleep(1000);
                else
                        r = created;
        }
        if (r == CUDA_SUCCESS && tenant->context)
                r = cuStreamCreate(&tenant->stream, CU_STREAM_NON_BLOCKING);
        if (r != CUDA_SUCCESS)
                tenant->shared->wrong++;
        if (r != CUDA_SUCCESS || !tenant->context)
                _exit(0);
}

static void tenant_pause(struct limit_shared *shared)
{
        size_t free_bytes, total_bytes;

        if (!shared->is_paused)
                return;
        cuMemGetInfo_v2(&free_bytes, &total_bytes); /* what pools have given up counts no more */
        shared->paused++;
        while (shared->is_paused)
                usleep(1000);
        shared->paused--;
}

void limit_work(struct limit_shared *shared, unsigned seed)
{
        struct tenant tenant = { .shared = shared, .seed = seed };

        tenant_start(&tenant);
        while (!shared->is_over) {
                tenant_step(&tenant);
                tenant_pause(shared);
        }
        for (unsigned i = 0; i < HELD; i++)
                if (tenant.held[i].buffer)
                        tenant_give(&tenant, &tenant.held[i]);
        _exit(0);
}
