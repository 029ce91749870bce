/* The gate of virtual memory.
 *
 * Two accounts bound it: what belongs on the card counts against the physical part of the share, what
 * stays on the host against the rest. Each is one atomic step, so neither is ever exceeded, nor is
 * their sum. A range larger than what the host's account has left takes the remainder from the card's:
 * one allocation may be as large as all that is left of both. */
#include "gate_virtual.h"

#include "clock.h"
#include "gate_memory.h"
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
        uint64_t host =
                ledger_reserve_virtual(range->account, whole, limits_virtual_bytes(range->account));
        struct charge card = { 0 };

        /* Whole granules on the card; what that takes over, the host need not have. */
        uint64_t device = gate_memory_granules(whole - host);
        uint64_t rest = whole > device ? whole - device : 0;
        if (device && gate_memory_reserve(range->account, device,
                                          limits_physical_bytes(range->account), &card) < 0) {
                ledger_give_back_virtual(range->account, host);
                return false;
        }
        ledger_rename(&card, REGION_MANAGED);
        if (host > rest)
                ledger_give_back_virtual(range->account, host - rest);
        range->host_bytes = host > rest ? rest : host;
        range->device_bytes = device;
        return true;
}

CUresult gate_virtual_admit(int account, size_t bytes, struct virtual_range *ret_range)
{
        if (account < 0 || !ledger_is_open() || !limits_virtual_bytes((unsigned)account))
                return gate_memory_refuse(account, bytes);
        ret_range->account = (unsigned)account;
        ret_range->bytes = bytes;
        presence_enter();
        if (range_reserve(ret_range) || (ledger_reap(NS_PER_MS) && range_reserve(ret_range)) ||
            (gate_memory_relieve() && range_reserve(ret_range)))
                return CUDA_SUCCESS;
        presence_leave();
        return gate_memory_refuse(account, bytes);
}

CUresult gate_virtual_settle(const struct virtual_range *range, CUresult result)
{
        if (result == CUDA_SUCCESS)
                gate_memory_has_relief();
        if (result == CUDA_SUCCESS && !virtual_range_add(range))
                result = CUDA_ERROR_OUT_OF_MEMORY;
        if (result != CUDA_SUCCESS)
                virtual_range_refund(range);
        presence_leave();
        return result;
}
