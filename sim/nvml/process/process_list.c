/* SPDX-License-Identifier: Apache-2.0 */
/* process_list: reads the slots. */
#include "process_list.h"

#include "load.h"
#include "pid.h"
#include "slot.h"
#include "timeline.h"

/* The instance that runs on this unit, or NULL for the whole GPU. */
static const struct machine_gpu_instance *instance_of(const struct machine_gpu *gpu, unsigned unit)
{
        for (unsigned i = 0; i < TARGET_INSTANCES; i++)
                if (machine_mig_is_used(&gpu->instances[i].is_used) &&
                    gpu->instances[i].unit == unit)
                        return &gpu->instances[i];
        return NULL;
}

/* The compute instance it runs on; the first one for a process that never said. */
static unsigned compute_of(const struct machine_gpu_instance *instance, uint32_t computes)
{
        for (unsigned k = 0; k < TARGET_INSTANCES; k++)
                if (machine_mig_is_used(&instance->compute[k].is_used) &&
                    (!computes || computes >> k & 1))
                        return instance->compute[k].id;
        return 0;
}

static int add(const struct target *t, const struct machine_slot *slot, unsigned unit,
               struct vec *list)
{
        const struct machine_slot_unit *held = &slot->units[unit];
        const struct machine_gpu_instance *instance = instance_of(t->gpu, unit);
        struct process process = {
                .bytes = held->device_bytes + held->managed_bytes,
                .gpu_instance = instance ? instance->id : NVML_ID_NONE,
                .compute_instance = instance ? compute_of(instance, held->computes) : NVML_ID_NONE,
                .unit = unit,
                .channel = held->channel,
                .list = held->list,
                .path = slot->path,
        };

        if (!held->contexts && !process.bytes)
                return 0;
        /* A MIG device lists its own, not those of its sisters in the same GPU instance. */
        if (t->compute && t->compute->id != process.compute_instance)
                return 0;
        /* Who is hidden from the caller is hidden here too. */
        process.pid = pid_of(slot);
        return process.pid ? vec_push(list, &process) : 0;
}

nvmlReturn_t process_list(const struct target *t, struct vec *ret_list)
{
        uint32_t high;
        unsigned first = t->unit, count = 1;

        slot_reap(t->machine);
        high = atomic_load(&t->machine->file->header.slots_high);
        if (!t->instance && t->gpu->mig_mode)
                count = MACHINE_UNITS_PER_GPU;
        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot *slot = &t->machine->file->slots[i];
                if (!slot_is_listed(t->machine, i))
                        continue;
                for (unsigned k = 0; k < count; k++)
                        if (add(t, slot, first + k, ret_list) < 0)
                                return NVML_ERROR_MEMORY;
        }
        return NVML_SUCCESS;
}

unsigned process_percent(const struct target *t, const struct process *process, uint64_t window_ns)
{
        if (!process->channel)
                return 0;
        timeline_advance(t->machine, process->unit);
        return load_percent(timeline_channel_load(t->machine, process->channel - 1, window_ns));
}
