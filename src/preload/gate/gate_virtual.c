/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of virtual memory.
 *
 * Two limits bound it: what belongs on the GPU counts against the physical part of the share, what
 * stays on the host against the remainder. Each is one atomic step, so neither is ever exceeded, nor is
 * their sum. A range larger than what the host's limit has left takes the remainder from the GPU's:
 * one allocation may be as large as all that is left of both. */
#include "gate_virtual.h"

#include "gate_memory.h"
#include "gate_timeslice.h"
#include "limits.h"
#include "presence.h"

enum { HOST_GRANULE_BYTES = 64 << 10 };

static uint64_t host_granules(size_t bytes)
{
        uint64_t granule = HOST_GRANULE_BYTES;

        return bytes > UINT64_MAX - granule ? UINT64_MAX / granule * granule
                                            : (bytes + granule - 1) / granule * granule;
}

static bool range_reserve(struct virtual_range *range)
{
        uint64_t whole = host_granules(range->bytes);
        uint64_t host = ledger_reserve_virtual(range->device_index, whole,
                                               limits_virtual_bytes(range->device_index));
        struct charge charge = { 0 };

        /* Whole granules on the GPU; what that takes over, the host need not have. */
        uint64_t device = gate_memory_granules(whole - host);
        uint64_t remainder = whole > device ? whole - device : 0;
        if (device &&
            gate_memory_reserve(range->device_index, device,
                                limits_physical_bytes(range->device_index), &charge) < 0) {
                ledger_give_back_virtual(range->device_index, host);
                return false;
        }
        ledger_rename(&charge, REGION_MANAGED);
        if (host > remainder)
                ledger_give_back_virtual(range->device_index, host - remainder);
        range->host_bytes = host > remainder ? remainder : host;
        range->device_bytes = device;
        return true;
}

CUresult gate_virtual_admit(int device_index, size_t bytes, struct virtual_range *ret_range)
{
        if (device_index < 0 || !ledger_is_open() || !limits_virtual_bytes((unsigned)device_index))
                return gate_memory_refuse(device_index, bytes);
        ret_range->device_index = (unsigned)device_index;
        ret_range->bytes = bytes;
        presence_enter();
        if (range_reserve(ret_range))
                return CUDA_SUCCESS;
        /* Again in any case: the GPU's part may have reaped after the host's part was counted. */
        ledger_reap_to_refuse();
        if (range_reserve(ret_range) || (gate_memory_relieve() && range_reserve(ret_range)))
                return CUDA_SUCCESS;
        presence_leave();
        return gate_memory_refuse(device_index, bytes);
}

CUresult gate_virtual_settle(const struct virtual_range *range, CUresult result)
{
        if (result == CUDA_SUCCESS)
                gate_memory_has_relief();
        if (result == CUDA_SUCCESS && !virtual_range_add(range))
                result = CUDA_ERROR_OUT_OF_MEMORY;
        if (result != CUDA_SUCCESS)
                virtual_range_refund(range, ledger_region());
        else
                gate_timeslice_tell_memory(range->device_index);
        presence_leave();
        return result;
}
