/* SPDX-License-Identifier: Apache-2.0 */
/* measure: alone in the process, with the remainder of the limit in hand, ask the driver before and after. */
#include "measure.h"

#include "devices.h"
#include "gate_memory.h"
#include "identity.h"
#include "limits.h"
#include "log.h"
#include "own_figure.h"
#include "presence.h"
#include "refusal.h"

/* Without a context there, we are not in the driver's list before, whatever was tried earlier. */
static bool context_watch(const struct measure *measure)
{
        const struct region *region = ledger_region();
        const struct region_charges *own =
                &region->file->slots[region->slot].charges[measure->device_index];

        return identity_watch(own_figure_list, measure->ordinal,
                              atomic_load(&own->kinds[REGION_CONTEXT]) == 0);
}

/* A limit, and what is known of contexts, may have changed while another process measured. */
static int remainder_reserve(struct measure *measure)
{
        const unsigned device_index = (unsigned)measure->device_index;

        ledger_measure(device_index);
        if (measure->context_bytes)
                measure->least_bytes = atomic_load(measure->context_bytes);
        int r = ledger_reserve_remainder(device_index, measure->least_bytes,
                                         limits_physical_bytes(device_index), &measure->charge);
        if (r < 0)
                ledger_measured(device_index);
        return r;
}

static CUresult begin(struct measure *measure)
{
        const bool is_context = measure->context_bytes;

        if (!limits_are_set() || !ledger_is_open())
                return CUDA_SUCCESS;
        if (measure->device_index < 0)
                return gate_memory_refuse(measure->device_index, measure->least_bytes);
        presence_lock();
        if (!own_figure(measure->ordinal, &measure->before_bytes))
                measure->is_watched = is_context && context_watch(measure);
        else
                measure->is_active = true;
        /* A context that cannot be measured takes what the last one took. Of other things, which come and go,
         * nothing is known: the node's agent compares from outside. */
        if (!measure->is_active && !measure->is_watched && !(is_context && measure->least_bytes)) {
                presence_unlock();
                return CUDA_SUCCESS;
        }
        int r = remainder_reserve(measure);
        if (r < 0 && region_reap(ledger_region()))
                r = remainder_reserve(measure);
        while (r < 0 && ledger_wait_driver())
                r = remainder_reserve(measure);
        measure->is_active = r == 0;
        if (r == 0)
                return CUDA_SUCCESS;
        measure->is_watched = false;
        presence_unlock();
        refusal_tell(measure->device_index, measure->least_bytes, REFUSAL_LIMIT);
        return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult measure_begin(struct measure *measure, int ordinal, uint64_t least_bytes)
{
        *measure = (struct measure){ .ordinal = ordinal,
                                     .device_index = devices_index(ordinal),
                                     .least_bytes = least_bytes };
        return begin(measure);
}

CUresult measure_begin_context(struct measure *measure, int ordinal,
                               const _Atomic uint64_t *context_bytes)
{
        *measure = (struct measure){ .ordinal = ordinal,
                                     .device_index = devices_index(ordinal),
                                     .least_bytes = atomic_load(context_bytes),
                                     .context_bytes = context_bytes };
        return begin(measure);
}

void measure_watch(struct measure *measure, int ordinal)
{
        if (identity_is_known())
                return;
        presence_lock();
        measure->is_watched = identity_watch(own_figure_list, ordinal, false);
        if (!measure->is_watched)
                presence_unlock();
}

/* The end of a watch alone. */
static CUresult watch_end(const struct measure *measure, CUresult result)
{
        if (result == CUDA_ERROR_OUT_OF_MEMORY && limits_are_set() && ledger_is_open())
                refusal_tell(measure->device_index, measure->least_bytes, REFUSAL_DRIVER);
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

/* The driver's answer, unless it took more than the limit had left. */
static CUresult measure_judge(const struct measure *measure, CUresult result, uint64_t taken,
                              uint64_t had)
{
        const bool is_limited =
                limits_physical_bytes((unsigned)measure->device_index) != UINT64_MAX;

        if (result == CUDA_ERROR_OUT_OF_MEMORY)
                refusal_tell(measure->device_index, measure->least_bytes, REFUSAL_DRIVER);
        if (result != CUDA_SUCCESS || taken <= had || !is_limited)
                return result;
        refusal_tell_taken(measure->device_index, taken);
        return CUDA_ERROR_OUT_OF_MEMORY;
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
        ledger_measured((unsigned)measure->device_index);
        presence_unlock();
        log_detail("device %d: the driver took %lld bytes where %llu were free", measure->ordinal,
                   (long long)change, (unsigned long long)had);
        return measure_judge(measure, result, taken, had);
}
