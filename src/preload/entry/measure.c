/* measure: alone in the process, with the container's rest in hand, ask the driver before and after. */
#include "measure.h"

#include "devices.h"
#include "limits.h"
#include "own_figure.h"
#include "presence.h"

CUresult measure_begin(struct measure *measure, int ordinal, uint64_t least_bytes)
{
        *measure = (struct measure){ .ordinal = ordinal, .account = devices_account(ordinal) };
        if (!limits_are_set() || !ledger_is_open())
                return CUDA_SUCCESS;
        if (measure->account < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        presence_lock();
        if (!own_figure(ordinal, &measure->before_bytes)) {
                presence_unlock(); /* not to be known: the node's agent compares from outside */
                return CUDA_SUCCESS;
        }
        unsigned account = (unsigned)measure->account;
        uint64_t limit = limits_physical_bytes(account);
        int r = ledger_reserve_rest(account, least_bytes, limit, &measure->charge);
        if (r < 0 && region_reap(ledger_region()))
                r = ledger_reserve_rest(account, least_bytes, limit, &measure->charge);
        if (r < 0) {
                presence_unlock();
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        measure->is_active = true;
        return CUDA_SUCCESS;
}

CUresult measure_end(struct measure *measure, CUresult result, uint64_t key, uint64_t context,
                     enum holding_kind kind)
{
        uint64_t after = 0, had = measure->charge.bytes;

        if (!measure->is_active)
                return result;
        own_figure(measure->ordinal, &after);
        uint64_t taken = after > measure->before_bytes ? after - measure->before_bytes : 0;
        measure->taken_bytes = taken;
        ledger_adjust(&measure->charge, result == CUDA_SUCCESS ? taken : 0);
        if (result == CUDA_SUCCESS) {
                measure->charge.context = context;
                ledger_settle(&measure->charge, key, kind);
        } else {
                ledger_give_back(&measure->charge);
        }
        ledger_measured((unsigned)measure->account);
        presence_unlock();
        if (result == CUDA_SUCCESS && taken > had &&
            limits_physical_bytes((unsigned)measure->account) != UINT64_MAX)
                return CUDA_ERROR_OUT_OF_MEMORY;
        return result;
}
