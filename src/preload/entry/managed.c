/* Managed memory that a program asks for itself: it may all come onto the device, so all of it counts.
 * What the card has no room for is virtual memory, and kept from coming. Where there are several
 * cards with limits, it is charged to one and kept from moving to another. */
#include "devices.h"
#include "gate_memory.h"
#include "real.h"
#include "virtual.h"

/* After the driver's answer. */
static CUresult settle(const struct place *place, struct charge *charge, CUresult result,
                       size_t bytes, CUdeviceptr *address)
{
        if (result != CUDA_SUCCESS || !virtual_has_rivals(place->ordinal)) {
                gate_memory_settle_as(charge, result, result == CUDA_SUCCESS ? *address : 0,
                                      HOLDING_MANAGED);
                return result;
        }
        CUresult r = virtual_keep(place, charge, bytes, *address);
        if (r != CUDA_SUCCESS)
                real_cuda.cuMemFree_v2(*address);
        return r;
}

CUresult hook_cuMemAllocManaged(cuMemAllocManaged_fn *real, CUdeviceptr *address, size_t bytes,
                                unsigned int flags)
{
        struct place place = devices_current();
        struct charge charge;

        if (!place.context)
                return real(address, bytes, flags);
        CUresult r = gate_memory_try(place.account, place.context, bytes, &charge);
        if (r == CUDA_SUCCESS)
                return settle(&place, &charge, real(address, bytes, flags), bytes, address);
        if (r == CUDA_ERROR_OUT_OF_MEMORY)
                r = virtual_alloc_managed(&place, bytes, flags, address);
        return r;
}
