/* Managed memory that a program asks for itself: it may all come onto the device, so all of it counts.
 * What the card has no room for is virtual memory, and kept from coming. */
#include "devices.h"
#include "gate_memory.h"
#include "real.h"
#include "virtual.h"

CUresult hook_cuMemAllocManaged(cuMemAllocManaged_fn *real, CUdeviceptr *address, size_t bytes,
                                unsigned int flags)
{
        struct place place = devices_current();
        struct charge charge;

        if (!place.context)
                return real(address, bytes, flags);
        CUresult r = gate_memory_try(place.account, place.context, bytes, &charge);
        if (r == CUDA_SUCCESS) {
                r = real(address, bytes, flags);
                gate_memory_settle_as(&charge, r, r == CUDA_SUCCESS ? *address : 0,
                                      HOLDING_MANAGED);
                return r;
        }
        if (r == CUDA_ERROR_OUT_OF_MEMORY)
                r = virtual_alloc_managed(&place, bytes, flags, address);
        return r;
}
