/* Plain device memory: allocate, free, and what the container is told of its size. */
#include "devices.h"
#include "gate_memory.h"
#include "graph_account.h"
#include "limits.h"
#include "pool_account.h"
#include "real.h"

CUresult hook_cuMemAlloc_v2(cuMemAlloc_v2_fn *real, CUdeviceptr *address, size_t bytes)
{
        struct place place = devices_current();
        struct charge charge;

        if (!place.context) /* no limit; or no context: the driver says so */
                return real(address, bytes);
        CUresult r = gate_memory_admit(place.account, place.context, bytes, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        r = real(address, bytes);
        gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
        return r;
}

CUresult hook_cuMemAlloc(cuMemAlloc_fn *real, CUdeviceptr_v1 *address, unsigned int bytes)
{
        struct place place = devices_current();
        struct charge charge;

        if (!place.context) /* no limit; or no context: the driver says so */
                return real(address, bytes);
        CUresult r = gate_memory_admit(place.account, place.context, bytes, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        r = real(address, bytes);
        gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
        return r;
}

/* The driver pads rows to 512 bytes: set that aside, then take what it says. */
static CUresult pitch_admit(size_t width, size_t height, struct charge *charge)
{
        size_t pitch = width + 511 - (width + 511) % 512, bytes;

        if (width > SIZE_MAX - 511 || __builtin_mul_overflow(pitch, height, &bytes))
                return CUDA_ERROR_OUT_OF_MEMORY;
        struct place place = devices_current();
        *charge = (struct charge){ 0 };
        if (!place.context)
                return CUDA_SUCCESS;
        return gate_memory_admit(place.account, place.context, bytes, charge);
}

CUresult hook_cuMemAllocPitch_v2(cuMemAllocPitch_v2_fn *real, CUdeviceptr *address, size_t *pitch,
                                 size_t width, size_t height, unsigned int element)
{
        struct charge charge;
        CUresult r = pitch_admit(width, height, &charge);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(address, pitch, width, height, element);
        gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
        return r;
}

CUresult hook_cuMemAllocPitch(cuMemAllocPitch_fn *real, CUdeviceptr_v1 *address,
                              unsigned int *pitch, unsigned int width, unsigned int height,
                              unsigned int element)
{
        struct charge charge;
        CUresult r = pitch_admit(width, height, &charge);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(address, pitch, width, height, element);
        gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
        return r;
}

CUresult hook_cuMemFree_v2(cuMemFree_v2_fn *real, CUdeviceptr address)
{
        if (!limits_are_set())
                return real(address);
        struct holding note;
        pool_account_free_begin(address, &note);
        return pool_account_free_end(real(address), &note);
}

CUresult hook_cuMemFree(cuMemFree_fn *real, CUdeviceptr_v1 address)
{
        if (!limits_are_set())
                return real(address);
        struct holding note;
        pool_account_free_begin(address, &note);
        return pool_account_free_end(real(address), &note);
}

CUresult hook_cuMemGetInfo_v2(cuMemGetInfo_v2_fn *real, size_t *free_bytes, size_t *total_bytes)
{
        if (!limits_are_set())
                return real(free_bytes, total_bytes);
        struct place place = devices_current();
        _Atomic uint64_t *known = devices_total(place.ordinal);
        /* What is free is the account's business, and the card's size does not change: asked once. */
        size_t total = known ? atomic_load_explicit(known, memory_order_relaxed) : 0;
        if (!total) {
                size_t ignored;
                CUresult r = real(&ignored, &total);
                if (r != CUDA_SUCCESS)
                        return r;
                if (known)
                        atomic_store_explicit(known, total, memory_order_relaxed);
        }
        pool_account_refresh_all();
        graph_account_refresh();
        total = gate_memory_total(place.account, total);
        if (free_bytes)
                *free_bytes = gate_memory_free(place.account, total);
        if (total_bytes)
                *total_bytes = total;
        return CUDA_SUCCESS;
}

static unsigned int cut_to_32_bits(size_t bytes)
{
        return bytes > UINT32_MAX ? UINT32_MAX : (unsigned int)bytes;
}

CUresult hook_cuMemGetInfo(cuMemGetInfo_fn *real, unsigned int *free_bytes,
                           unsigned int *total_bytes)
{
        unsigned int free_part, total_part;
        int account = devices_current().account;
        CUresult r = real(&free_part, &total_part);

        if (r != CUDA_SUCCESS)
                return r;
        if (limits_are_set()) {
                pool_account_refresh_all();
                graph_account_refresh();
                uint64_t total = gate_memory_total(account, total_part);
                free_part = cut_to_32_bits(gate_memory_free(account, total));
                total_part = cut_to_32_bits(total);
        }
        if (free_bytes)
                *free_bytes = free_part;
        if (total_bytes)
                *total_bytes = total_part;
        return r;
}

CUresult hook_cuDeviceTotalMem_v2(cuDeviceTotalMem_v2_fn *real, size_t *bytes, CUdevice device)
{
        CUresult r = real(bytes, device);

        if (r == CUDA_SUCCESS)
                *bytes = gate_memory_total(devices_account(device), *bytes);
        return r;
}

CUresult hook_cuDeviceTotalMem(cuDeviceTotalMem_fn *real, unsigned int *bytes, CUdevice device)
{
        CUresult r = real(bytes, device);

        if (r == CUDA_SUCCESS)
                *bytes = cut_to_32_bits(gate_memory_total(devices_account(device), *bytes));
        return r;
}
