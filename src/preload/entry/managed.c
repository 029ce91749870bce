/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory that a program asks for itself: it may all come onto the device, so all of it counts.
 * What does not fit the GPU is virtual memory, and kept from coming. Where there are several
 * GPUs with limits, it is charged to one and kept from moving to another. Where ranges exchange places, it may be one of
 * them. */
#include "devices.h"
#include "gate_memory.h"
#include "gate_timeslice.h"
#include "real.h"
#include "virtual.h"

/* After the driver's answer. */
static CUresult settle(const struct target *target, struct charge *charge, CUresult result,
                       size_t bytes, CUdeviceptr *address)
{
        if (result != CUDA_SUCCESS || !virtual_keeps(target)) {
                gate_memory_settle_as(charge, result, result == CUDA_SUCCESS ? *address : 0,
                                      HOLDING_MANAGED);
                if (result == CUDA_SUCCESS && charge->is_counted)
                        gate_timeslice_tell_memory(charge->device_index);
                return result;
        }
        CUresult r = virtual_keep(target, charge, bytes, *address);
        if (r != CUDA_SUCCESS)
                real_cuda.cuMemFree_v2(*address);
        return r;
}

CUresult hook_cuMemAllocManaged(cuMemAllocManaged_fn *real, CUdeviceptr *address, size_t bytes,
                                unsigned int flags)
{
        struct target target = devices_current();
        struct charge charge;

        if (!target.context)
                return real(address, bytes, flags);
        CUresult r = gate_memory_try(target.device_index, target.context, bytes, &charge);
        if (r == CUDA_ERROR_OUT_OF_MEMORY)
                return virtual_alloc_managed(&target, bytes, flags, address);
        const bool is_counted = charge.is_counted;
        if (r == CUDA_SUCCESS)
                r = settle(&target, &charge, real(address, bytes, flags), bytes, address);
        return r == CUDA_ERROR_OUT_OF_MEMORY && is_counted
                       ? gate_memory_refuse(target.device_index, bytes)
                       : r;
}
