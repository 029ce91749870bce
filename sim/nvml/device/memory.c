/* SPDX-License-Identifier: Apache-2.0 */
/* memory: how much a device has and how much is taken. */
#include "slot.h"
#include "target.h"
#include "unit_memory.h"

struct figures {
        uint64_t total, reserved, free, used; /* total = reserved + free + used */
};

static uint64_t used_by_instances(const struct target *t)
{
        uint64_t used = 0;

        for (unsigned i = 0; i < TARGET_INSTANCES; i++) {
                struct unit_memory memory;
                if (!machine_mig_is_used(&t->gpu->instances[i].is_used))
                        continue;
                unit_memory(t->machine, t->gpu->instances[i].unit, &memory);
                used += memory.used_bytes;
        }
        return used;
}

/* The dead are reaped first: they leave nothing, and nobody must see otherwise. */
static void figures_of(const struct target *t, struct figures *ret_figures)
{
        struct unit_memory memory;

        slot_reap(t->machine);
        unit_memory(t->machine, t->unit, &memory);
        if (t->instance) {
                *ret_figures =
                        (struct figures){ .total = memory.total_bytes, .used = memory.used_bytes };
        } else {
                uint64_t total = t->gpu->memory_bytes;
                uint64_t used = memory.used_bytes + used_by_instances(t);
                *ret_figures = (struct figures){ .total = total,
                                                 .used = used,
                                                 .reserved = t->gpu->reserved_bytes };
        }
        uint64_t taken = ret_figures->used + ret_figures->reserved;
        ret_figures->free = ret_figures->total > taken ? ret_figures->total - taken : 0;
        /* What rounding of the programs' part leaves over is nobody's: it counts as reserved. */
        if (!t->instance && ret_figures->free > memory.free_bytes && !t->gpu->mig_mode) {
                ret_figures->reserved += ret_figures->free - memory.free_bytes;
                ret_figures->free = memory.free_bytes;
        }
}

/* The first version knows no reserved part: it belongs to used, as on hardware. */
nvmlReturn_t sim_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
        struct target t;
        struct figures figures;
        nvmlReturn_t r = target_any(device, memory, &t);

        if (r != NVML_SUCCESS)
                return r;
        figures_of(&t, &figures);
        *memory = (nvmlMemory_t){
                .total = figures.total,
                .free = figures.free,
                .used = figures.used + figures.reserved,
        };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
        struct target t;
        struct figures figures;
        nvmlReturn_t r = target_any(device, memory, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (memory->version != NVML_VERSION_OF(nvmlMemory_v2_t, 2))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        figures_of(&t, &figures);
        *memory = (nvmlMemory_v2_t){
                .version = memory->version,
                .total = figures.total,
                .reserved = figures.reserved,
                .free = figures.free,
                .used = figures.used,
        };
        return NVML_SUCCESS;
}

/* The window that the host sees; the driver itself keeps a little of it, each context some more. */
nvmlReturn_t sim_nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1)
{
        struct target t;
        nvmlReturn_t r = target_any(device, bar1, &t);
        uint64_t used = UINT64_C(1) << 20, total;

        if (r != NVML_SUCCESS)
                return r;
        slot_reap(t.machine);
        total = t.gpu->bar1_bytes;
        if (t.instance)
                total = total / 8 * t.instance->size;
        uint32_t high = atomic_load(&t.machine->file->header.slots_high);
        for (uint32_t i = 0; i < high; i++)
                if (slot_is_alive(t.machine, i))
                        used += t.machine->file->slots[i].units[t.unit].contexts *
                                (UINT64_C(2) << 20);
        used = used < total ? used : total;
        *bar1 = (nvmlBAR1Memory_t){ .bar1Total = total,
                                    .bar1Free = total - used,
                                    .bar1Used = used };
        return NVML_SUCCESS;
}
