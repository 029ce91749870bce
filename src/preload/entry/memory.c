/* SPDX-License-Identifier: Apache-2.0 */
/* Plain device memory: allocate, free, and what the container is told of its size. */
#include "batch.h"
#include "devices.h"
#include "gate_memory.h"
#include "graph_charge.h"
#include "limits.h"
#include "pool_charge.h"
#include "presence.h"
#include "real.h"
#include "virtual.h"

CUresult hook_cuMemAlloc_v2(cuMemAlloc_v2_fn *real, CUdeviceptr *address, size_t bytes)
{
        struct target target = devices_current();
        struct charge charge;

        if (!target.context) /* no limit; or no context: the driver says so */
                return real(address, bytes);
        CUresult r = virtual_alloc_movable(&target, bytes, address);
        if (r != CUDA_ERROR_NOT_SUPPORTED)
                return r == CUDA_ERROR_OUT_OF_MEMORY ? virtual_alloc(&target, bytes, address) : r;
        r = gate_memory_try(target.device_index, target.context, bytes, &charge);
        if (r == CUDA_SUCCESS) {
                r = real(address, bytes);
                gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
        }
        return r == CUDA_ERROR_OUT_OF_MEMORY ? virtual_alloc(&target, bytes, address) : r;
}

/* An address of 32 bits cannot name managed memory: this is device memory or none. */
CUresult hook_cuMemAlloc(cuMemAlloc_fn *real, CUdeviceptr_v1 *address, unsigned int bytes)
{
        struct target target = devices_current();
        struct charge charge;

        if (!target.context) /* no limit; or no context: the driver says so */
                return real(address, bytes);
        CUresult r = gate_memory_admit(target.device_index, target.context, bytes, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        r = real(address, bytes);
        gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
        return r;
}

/* The driver pads rows to 512 bytes. False: there is no such size. */
static bool pitch_size(size_t width, size_t height, size_t *ret_pitch, size_t *ret_bytes)
{
        if (width > SIZE_MAX - 511)
                return false;
        *ret_pitch = width + 511 - (width + 511) % 512;
        return !__builtin_mul_overflow(*ret_pitch, height, ret_bytes);
}

CUresult hook_cuMemAllocPitch_v2(cuMemAllocPitch_v2_fn *real, CUdeviceptr *address, size_t *pitch,
                                 size_t width, size_t height, unsigned int element)
{
        struct target target = devices_current();
        struct charge charge;
        size_t padded, bytes;

        if (!target.context)
                return real(address, pitch, width, height, element);
        if (!pitch_size(width, height, &padded, &bytes))
                return CUDA_ERROR_OUT_OF_MEMORY;
        /* Not asked, the driver does not check these. */
        const bool is_valid = address && pitch && (element == 4 || element == 8 || element == 16);
        CUresult r = is_valid ? virtual_alloc_movable(&target, bytes, address)
                              : CUDA_ERROR_NOT_SUPPORTED;
        if (r == CUDA_ERROR_NOT_SUPPORTED) {
                r = gate_memory_try(target.device_index, target.context, bytes, &charge);
                if (r == CUDA_SUCCESS) {
                        r = real(address, pitch, width, height, element);
                        gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
                        if (r != CUDA_ERROR_OUT_OF_MEMORY)
                                return r;
                }
        }
        if (r == CUDA_ERROR_OUT_OF_MEMORY)
                r = is_valid ? virtual_alloc(&target, bytes, address) : CUDA_ERROR_INVALID_VALUE;
        if (r == CUDA_SUCCESS)
                *pitch = padded;
        return r;
}

CUresult hook_cuMemAllocPitch(cuMemAllocPitch_fn *real, CUdeviceptr_v1 *address,
                              unsigned int *pitch, unsigned int width, unsigned int height,
                              unsigned int element)
{
        struct target target = devices_current();
        struct charge charge;
        size_t padded, bytes;

        if (!target.context)
                return real(address, pitch, width, height, element);
        if (!pitch_size(width, height, &padded, &bytes))
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = gate_memory_admit(target.device_index, target.context, bytes, &charge);
        if (r != CUDA_SUCCESS)
                return r;
        r = real(address, pitch, width, height, element);
        gate_memory_settle(&charge, r, r == CUDA_SUCCESS ? *address : 0);
        return r;
}

/* Freeing waits for the work of the context. */
CUresult hook_cuMemFree_v2(cuMemFree_v2_fn *real, CUdeviceptr address)
{
        CUresult r;

        if (!limits_are_set())
                return real(address);
        batch_wait_begins();
        if (!virtual_free(real, address, &r)) {
                struct holding note;
                pool_charge_free_begin(address, &note);
                r = pool_charge_free_end(real(address), &note, NULL);
        }
        batch_wait_ends();
        return r;
}

CUresult hook_cuMemFree(cuMemFree_fn *real, CUdeviceptr_v1 address)
{
        if (!limits_are_set())
                return real(address);
        struct holding note;
        batch_wait_begins();
        pool_charge_free_begin(address, &note);
        const CUresult r = pool_charge_free_end(real(address), &note, NULL);
        batch_wait_ends();
        return r;
}

CUresult hook_cuMemFreeHost(cuMemFreeHost_fn *real, void *memory)
{
        batch_wait_begins();
        const CUresult r = real(memory);
        batch_wait_ends();
        return r;
}

/* What the driver has been given back meanwhile is free. */
static void charges_refresh(void)
{
        pool_charge_refresh_all();
        graph_charge_refresh();
        if (!virtual_range_is_any())
                return;
        presence_enter();
        virtual_reap();
        presence_leave();
}

CUresult hook_cuMemGetInfo_v2(cuMemGetInfo_v2_fn *real, size_t *free_bytes, size_t *total_bytes)
{
        if (!limits_are_set())
                return real(free_bytes, total_bytes);
        struct target target = devices_current();
        _Atomic uint64_t *known = devices_total(target.ordinal);
        /* What is free is the ledger's business, and the GPU's size does not change: asked once. */
        size_t total = known ? atomic_load_explicit(known, memory_order_relaxed) : 0;
        if (!total) {
                size_t ignored;
                CUresult r = real(&ignored, &total);
                if (r != CUDA_SUCCESS)
                        return r;
                if (known)
                        atomic_store_explicit(known, total, memory_order_relaxed);
        }
        charges_refresh();
        total = gate_memory_total(target.device_index, total);
        if (free_bytes)
                *free_bytes = gate_memory_free(target.device_index, total);
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
        int device_index = devices_current().device_index;
        CUresult r = real(&free_part, &total_part);

        if (r != CUDA_SUCCESS)
                return r;
        if (limits_are_set()) {
                charges_refresh();
                uint64_t total = gate_memory_total(device_index, total_part);
                free_part = cut_to_32_bits(gate_memory_free(device_index, total));
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
                *bytes = gate_memory_total(devices_index(device), *bytes);
        return r;
}

CUresult hook_cuDeviceTotalMem(cuDeviceTotalMem_fn *real, unsigned int *bytes, CUdevice device)
{
        CUresult r = real(bytes, device);

        if (r == CUDA_SUCCESS)
                *bytes = cut_to_32_bits(gate_memory_total(devices_index(device), *bytes));
        return r;
}
