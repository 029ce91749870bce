/* measure: alone in the process, with the container's rest in hand, ask the driver before and after. */
#include "measure.h"

#include "devices.h"
#include "identity.h"
#include "limits.h"
#include "own_figure.h"
#include "presence.h"

static CUresult begin(struct measure *measure, bool is_context)
{
        if (!limits_are_set() || !ledger_is_open())
                return CUDA_SUCCESS;
        if (measure->account < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        presence_lock();
        if (!own_figure(measure->ordinal, &measure->before_bytes))
                measure->is_watched =
                        is_context && identity_watch(own_figure_list, measure->ordinal);
        else
                measure->is_active = true;
        if (!measure->is_active && !measure->is_watched) {
                presence_unlock(); /* not to be known: the node's agent compares from outside */
                return CUDA_SUCCESS;
        }
        unsigned account = (unsigned)measure->account;
        uint64_t limit = limits_physical_bytes(account), least = measure->least_bytes;
        int r = ledger_reserve_rest(account, least, limit, &measure->charge);
        if (r < 0 && region_reap(ledger_region()))
                r = ledger_reserve_rest(account, least, limit, &measure->charge);
        measure->is_active = r == 0;
        if (r == 0)
                return CUDA_SUCCESS;
        measure->is_watched = false;
        presence_unlock();
        return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult measure_begin(struct measure *measure, int ordinal, uint64_t least_bytes)
{
        *measure = (struct measure){ .ordinal = ordinal,
                                     .account = devices_account(ordinal),
                                     .least_bytes = least_bytes };
        return begin(measure, false);
}

CUresult measure_begin_context(struct measure *measure, int ordinal, uint64_t least_bytes)
{
        *measure = (struct measure){ .ordinal = ordinal,
                                     .account = devices_account(ordinal),
                                     .least_bytes = least_bytes };
        return begin(measure, true);
}

void measure_watch(struct measure *measure, int ordinal)
{
        if (identity_is_known())
                return;
        presence_lock();
        measure->is_watched = identity_watch(own_figure_list, ordinal);
        if (!measure->is_watched)
                presence_unlock();
}

/* The end of a watch alone. */
static CUresult watch_end(const struct measure *measure, CUresult result)
{
        if (!measure->is_watched)
                return result;
        if (result == CUDA_SUCCESS)
                identity_learn(own_figure_list, measure->ordinal);
        presence_unlock();
        return result;
}

/* What the driver took (less than 0: gave back); where it does not say, what is known to be needed. */
static int64_t bytes_taken(const struct measure *measure, CUresult result)
{
        uint64_t after = 0, most = measure->least_bytes;

        if (measure->is_watched && result == CUDA_SUCCESS)
                most = identity_learn(own_figure_list, measure->ordinal);
        if (!own_figure(measure->ordinal, &after))
                return (int64_t)(most > measure->least_bytes ? most : measure->least_bytes);
        return (int64_t)(after - measure->before_bytes);
}

CUresult measure_end(struct measure *measure, CUresult result, uint64_t key, uint64_t context,
                     enum holding_kind kind)
{
        uint64_t had = measure->charge.bytes;

        if (!measure->is_active)
                return watch_end(measure, result);
        int64_t change = bytes_taken(measure, result);
        uint64_t taken = change > 0 ? (uint64_t)change : 0;
        measure->taken_bytes = taken;
        ledger_adjust(&measure->charge, result == CUDA_SUCCESS ? taken : 0);
        if (result == CUDA_SUCCESS) {
                measure->charge.context = context;
                ledger_settle_more(&measure->charge, key, kind);
                if (change < 0)
                        ledger_shrink(key, (uint64_t)-change);
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
