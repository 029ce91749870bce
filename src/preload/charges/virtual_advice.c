/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_advice: see virtual_advice.h. */
#include "virtual_advice.h"

#include "devices.h"
#include "managed_memory.h"

/* Devices reach the bytes where they are. One that cannot does not use them, unless it is the one that
 * they are for. */
CUresult virtual_advice_map(CUdeviceptr address, size_t bytes, int ordinal)
{
        CUresult own = CUDA_SUCCESS;

        for (int i = 0; i < devices_count(); i++) {
                CUresult r = managed_advise(address, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, i);
                if (i == ordinal)
                        own = r;
        }
        return own;
}

CUresult virtual_advice_host(CUdeviceptr address, size_t bytes, int ordinal)
{
        const CUresult r =
                managed_advise(address, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU);

        return r == CUDA_SUCCESS ? virtual_advice_map(address, bytes, ordinal) : r;
}
