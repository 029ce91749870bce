/* SPDX-License-Identifier: Apache-2.0 */
/* measured: a note without bytes for each object, and a sum for each kind in each context. */
#include "measured.h"

#include "limits.h"
#include "own_figure.h"
#include "presence.h"

static uint64_t sum_key(uint64_t context, enum holding_kind kind)
{
        return context | (uint64_t)(kind + 1) << 57;
}

CUresult measured_begin(struct measure *measure, uint64_t least_bytes, struct target *ret_target)
{
        *measure = (struct measure){ 0 };
        *ret_target = devices_current();
        return ret_target->context ? measure_begin(measure, ret_target->ordinal, least_bytes)
                                   : CUDA_SUCCESS;
}

CUresult measured_begin_object(struct measure *measure, uint64_t object_bytes,
                               enum holding_kind kind, struct target *ret_target)
{
        uint64_t spare = LEDGER_GRANULE_BYTES;
        struct holding sum;

        if (object_bytes && holding_find(sum_key(devices_current().context, kind), &sum))
                spare += sum.bytes;
        return measured_begin(measure, object_bytes > spare ? object_bytes - spare : 0, ret_target);
}

static void note(const struct target *target, const void *handle, enum holding_kind kind)
{
        struct holding note = { .key = (uint64_t)(uintptr_t)handle,
                                .count = 1,
                                .device = (uint16_t)target->device_index,
                                .kind = (uint16_t)kind,
                                .context = target->context,
                                .number = (uint64_t)target->ordinal };

        holding_add(&note);
}

CUresult measured_end(struct measure *measure, const struct target *target, CUresult result,
                      const void *handle, enum holding_kind kind,
                      CUresult (*undo)(const void *handle))
{
        struct measured_gift gift;

        if (measure->is_active && result == CUDA_SUCCESS)
                note(target, handle, kind);
        CUresult r =
                measure_end(measure, result, sum_key(target->context, kind), target->context, kind);
        if (result == CUDA_SUCCESS && r != CUDA_SUCCESS) {
                measured_give_begin(&gift, handle);
                measured_give_end(&gift, undo(handle));
        }
        return r;
}

void measured_give_begin(struct measured_gift *gift, const void *handle)
{
        *gift = (struct measured_gift){ 0 };
        if (!limits_are_set() || !holding_take((uint64_t)(uintptr_t)handle, &gift->note))
                return;
        presence_lock();
        gift->is_known = own_figure((int)gift->note.number, &gift->before_bytes);
}

CUresult measured_give_end(const struct measured_gift *gift, CUresult result)
{
        const struct holding *object = &gift->note;
        uint64_t after = 0;

        if (!object->key)
                return result;
        if (result != CUDA_SUCCESS)
                holding_add(object);
        else if (gift->is_known && own_figure((int)object->number, &after) &&
                 after < gift->before_bytes)
                ledger_shrink(sum_key(object->context, (enum holding_kind)object->kind),
                              gift->before_bytes - after);
        presence_unlock();
        return result;
}
