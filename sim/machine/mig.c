/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a GPU into instances: rules of placement, and the making and unmaking of units. */
#include "mig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "preset.h"
#include "slot.h"

enum {
        INSTANCES =
                sizeof((struct machine_gpu *)0)->instances / sizeof(struct machine_gpu_instance),
        COMPUTE = sizeof((struct machine_gpu_instance *)0)->compute /
                  sizeof(struct machine_compute_instance),
};

static uint32_t span(unsigned start, unsigned size)
{
        return ((1u << size) - 1) << start;
}

uint64_t mig_memory_bytes(const struct machine_gpu *gpu, const struct mig_profile *profile)
{
        const struct preset *preset = preset_find(gpu->preset);
        uint64_t bytes = (uint64_t)profile->memory_mib << 20;

        if (preset && preset->gpu.memory_bytes != gpu->memory_bytes) {
                double share = (double)gpu->memory_bytes / (double)preset->gpu.memory_bytes;
                bytes = (uint64_t)((double)bytes * share);
        }
        return bytes & ~(MACHINE_GRANULE_BYTES - 1);
}

static uint32_t memory_slices_used(const struct machine_gpu *gpu)
{
        uint32_t used = 0;

        for (unsigned i = 0; i < INSTANCES; i++)
                if (gpu->instances[i].is_used)
                        used |= span(gpu->instances[i].start, gpu->instances[i].size);
        return used;
}

static unsigned count_of(const struct machine_gpu *gpu, unsigned profile_id)
{
        unsigned count = 0;

        for (unsigned i = 0; i < INSTANCES; i++)
                count += gpu->instances[i].is_used && gpu->instances[i].profile == profile_id;
        return count;
}

static uint32_t starts_within(const struct mig_profile *profile, uint32_t used)
{
        uint32_t starts = 0;

        for (unsigned k = 0; k < 8; k++)
                if (profile->starts >> k & 1 && !(span(k, profile->size) & used))
                        starts |= 1u << k;
        return starts;
}

uint32_t mig_free_starts(const struct machine_gpu *gpu, const struct mig_profile *profile)
{
        if (count_of(gpu, profile->id) >= profile->max_count)
                return 0;
        return starts_within(profile, memory_slices_used(gpu));
}

unsigned mig_remaining(const struct machine_gpu *gpu, const struct mig_profile *profile)
{
        uint32_t used = memory_slices_used(gpu);
        unsigned available = profile->max_count - count_of(gpu, profile->id), count = 0;

        for (unsigned k = 0; k < 8 && count < available; k++) {
                if (!(starts_within(profile, used) >> k & 1))
                        continue;
                used |= span(k, profile->size);
                count++;
        }
        return count;
}

/* Of the free starts the one that leaves the most starts for others; the last of equals. */
static unsigned best_start(const struct mig_model *model, const struct machine_gpu *gpu,
                           const struct mig_profile *profile, uint32_t starts)
{
        uint32_t used = memory_slices_used(gpu);
        unsigned best = 0;
        int most = -1;

        for (unsigned k = 0; k < 8; k++) {
                int left = 0;
                if (!(starts >> k & 1))
                        continue;
                for (size_t i = 0; i < model->profile_count; i++)
                        left += __builtin_popcount(
                                starts_within(&model->profiles[i], used | span(k, profile->size)));
                if (left >= most) {
                        most = left;
                        best = k;
                }
        }
        return best;
}

/* splitmix64 over the names: the same cut of the same GPU has the same UUIDs, as on hardware. */
static uint64_t mix(uint64_t state, uint64_t value)
{
        uint64_t z = state + value + UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

static void compute_name(char uuid[48], const struct machine_gpu *gpu,
                         const struct machine_gpu_instance *instance, unsigned compute_id)
{
        uint64_t a = 0;

        for (const char *p = gpu->uuid; *p; p++)
                a = mix(a, (uint8_t)*p);
        a = mix(a, (uint64_t)instance->id << 8 | compute_id);
        uint64_t b = mix(a, instance->profile);
        snprintf(uuid, 48, "MIG-%08x-%04x-5%03x-%04x-%012llx", (unsigned)(a >> 32),
                 (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff,
                 (unsigned)(b >> 48 & 0x3fff) | 0x8000,
                 (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}

bool mig_unit_is_busy(struct machine *machine, unsigned unit)
{
        uint32_t high = atomic_load(&machine->file->header.slots_high);

        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot_unit *held = &machine->file->slots[i].units[unit];
                if (slot_is_alive(machine, i) &&
                    (held->contexts || held->device_bytes || held->managed_bytes))
                        return true;
        }
        return false;
}

/* A process that never said which compute instance it uses counts for all. */
static bool compute_is_busy(struct machine *machine, unsigned unit, unsigned compute)
{
        uint32_t high = atomic_load(&machine->file->header.slots_high);

        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot_unit *held = &machine->file->slots[i].units[unit];
                if (slot_is_alive(machine, i) && held->contexts &&
                    (!held->computes || held->computes >> compute & 1))
                        return true;
        }
        return false;
}

static bool gpu_is_busy(struct machine *machine, unsigned gpu)
{
        for (unsigned k = 0; k < MACHINE_UNITS_PER_GPU; k++)
                if (mig_unit_is_busy(machine, gpu * MACHINE_UNITS_PER_GPU + k))
                        return true;
        return false;
}

/* The instance goes before its unit: killed in between, a unit is left that no instance names, and the
 * next instance at this start takes it over. The other way round, an instance would be left broken. */
static void instance_free(struct machine *machine, struct machine_gpu_instance *instance)
{
        __atomic_store_n(&instance->is_used, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&machine_unit(machine, instance->unit)->is_active, 0, __ATOMIC_RELEASE);
}

/* The caller holds the machine's lock. */
static int mode_apply(struct machine *machine, unsigned index)
{
        struct machine_gpu *gpu = machine_gpu(machine, index);

        if (gpu->mig_mode == gpu->mig_mode_pending)
                return 0;
        if (gpu_is_busy(machine, index))
                return -EBUSY;
        for (unsigned i = 0; i < INSTANCES; i++) {
                if (gpu->instances[i].is_used)
                        instance_free(machine, &gpu->instances[i]);
        }
        gpu->mig_mode = gpu->mig_mode_pending;
        return 0;
}

int mig_set_mode(struct machine *machine, unsigned index, bool is_enabled)
{
        struct machine_gpu *gpu = machine_gpu(machine, index);
        int r;

        if (!mig_model(gpu))
                return -EOPNOTSUPP;
        slot_reap(machine);
        machine_lock(&machine->file->header.lock);
        gpu->mig_mode_pending = is_enabled;
        r = mode_apply(machine, index);
        machine_unlock(&machine->file->header.lock);
        return r;
}

int mig_reset(struct machine *machine, unsigned index)
{
        int r;

        slot_reap(machine);
        machine_lock(&machine->file->header.lock);
        r = gpu_is_busy(machine, index) ? -EBUSY : mode_apply(machine, index);
        machine_unlock(&machine->file->header.lock);
        return r;
}

/* The unit is visible last: whoever sees it active sees all of it. */
static void unit_start(struct machine *machine, unsigned index, unsigned gpu,
                       const struct mig_profile *profile)
{
        struct machine_unit *unit = machine_unit(machine, index);

        machine_lock(&unit->memory_lock);
        unit->gpu = gpu;
        unit->sm_count = profile->sm_count;
        unit->memory_bytes = mig_memory_bytes(machine_gpu(machine, gpu), profile);
        unit->used_bytes = 0;
        unit->outsider_bytes = 0;
        unit->evicted_bytes = 0;
        machine_unlock(&unit->memory_lock);
        __atomic_store_n(&unit->is_active, 1, __ATOMIC_RELEASE);
}

static int create_locked(struct machine *machine, unsigned index, unsigned profile_id, int start,
                         unsigned *ret_instance)
{
        struct machine_gpu *gpu = machine_gpu(machine, index);
        const struct mig_model *model = mig_model(gpu);
        const struct mig_profile *profile = model ? mig_profile_of_id(model, profile_id) : NULL;
        unsigned i = 0;

        if (!model || !gpu->mig_mode)
                return -EOPNOTSUPP;
        if (!profile ||
            (start != MIG_ANYWHERE && (start < 0 || start > 7 || !(profile->starts >> start & 1))))
                return -EINVAL;
        uint32_t starts = mig_free_starts(gpu, profile);
        if (start != MIG_ANYWHERE)
                starts &= 1u << start;
        while (i < INSTANCES && gpu->instances[i].is_used)
                i++;
        if (!starts || i == INSTANCES)
                return -ENOSPC;

        struct machine_gpu_instance *instance = &gpu->instances[i];
        unsigned chosen = best_start(model, gpu, profile, starts);
        *instance = (struct machine_gpu_instance){
                /* Halves of halves are numbered in order: the whole is 0, its halves 1 and 2, … */
                .id = (uint32_t)model->memory_slices / profile->size - 1 + chosen / profile->size,
                .profile = profile->id,
                .start = chosen,
                .size = profile->size,
                .slices = profile->slices,
                .unit = index * MACHINE_UNITS_PER_GPU + 1 + i,
        };
        unit_start(machine, instance->unit, index, profile);
        __atomic_store_n(&instance->is_used, 1, __ATOMIC_RELEASE);
        *ret_instance = i;
        return 0;
}

int mig_create(struct machine *machine, unsigned gpu, unsigned profile_id, int start,
               unsigned *ret_instance)
{
        machine_lock(&machine->file->header.lock);
        int r = create_locked(machine, gpu, profile_id, start, ret_instance);
        machine_unlock(&machine->file->header.lock);
        return r;
}

static int destroy_locked(struct machine *machine, unsigned index, unsigned i)
{
        struct machine_gpu *gpu = machine_gpu(machine, index);

        if (i >= INSTANCES || !gpu->instances[i].is_used)
                return -ENOENT;
        struct machine_gpu_instance *instance = &gpu->instances[i];
        for (unsigned k = 0; k < COMPUTE; k++)
                if (instance->compute[k].is_used)
                        return -EBUSY;
        if (mig_unit_is_busy(machine, instance->unit))
                return -EBUSY;
        instance_free(machine, instance);
        return 0;
}

int mig_destroy(struct machine *machine, unsigned gpu, unsigned instance)
{
        slot_reap(machine);
        machine_lock(&machine->file->header.lock);
        int r = destroy_locked(machine, gpu, instance);
        machine_unlock(&machine->file->header.lock);
        return r;
}

static uint32_t compute_slices_used(const struct machine_gpu_instance *instance)
{
        uint32_t used = 0;

        for (unsigned k = 0; k < COMPUTE; k++)
                if (instance->compute[k].is_used)
                        used |= span(instance->compute[k].start, instance->compute[k].slices);
        return used;
}

static uint32_t mig_compute_free_starts(const struct machine_gpu_instance *instance,
                                        const struct mig_compute_profile *profile)
{
        uint32_t used = compute_slices_used(instance), starts = 0;

        for (unsigned k = 0; k < 8; k++)
                if (profile->starts >> k & 1 && !(span(k, profile->slices) & used))
                        starts |= 1u << k;
        return starts;
}

unsigned mig_compute_remaining(const struct machine_gpu_instance *instance,
                               const struct mig_compute_profile *profile)
{
        uint32_t used = compute_slices_used(instance);
        unsigned count = 0;

        for (unsigned k = 0; k < 8; k++) {
                if (!(profile->starts >> k & 1) || span(k, profile->slices) & used)
                        continue;
                used |= span(k, profile->slices);
                count++;
        }
        return count;
}

static int compute_create_locked(struct machine *machine, unsigned index, unsigned i,
                                 unsigned profile_id, int start, unsigned *ret_compute)
{
        struct machine_gpu *gpu = machine_gpu(machine, index);
        const struct mig_model *model = mig_model(gpu);
        struct mig_compute_profile profile;
        unsigned k = 0;

        if (!model || i >= INSTANCES || !gpu->instances[i].is_used)
                return -ENOENT;
        struct machine_gpu_instance *instance = &gpu->instances[i];
        if (!mig_compute_profile(mig_profile_of_id(model, instance->profile), profile_id,
                                 &profile) ||
            (start != MIG_ANYWHERE && (start < 0 || start > 7 || !(profile.starts >> start & 1))))
                return -EINVAL;
        uint32_t starts = mig_compute_free_starts(instance, &profile);
        if (start != MIG_ANYWHERE)
                starts &= 1u << start;
        while (k < COMPUTE && instance->compute[k].is_used)
                k++;
        if (!starts || k == COMPUTE)
                return -ENOSPC;

        struct machine_compute_instance *compute = &instance->compute[k];
        *compute = (struct machine_compute_instance){
                .id = k,
                .profile = profile.id,
                .slices = profile.slices,
                .start = (uint32_t)__builtin_ctz(starts),
        };
        compute_name(compute->uuid, gpu, instance, k);
        __atomic_store_n(&compute->is_used, 1, __ATOMIC_RELEASE);
        *ret_compute = k;
        return 0;
}

int mig_compute_create(struct machine *machine, unsigned gpu, unsigned instance,
                       unsigned profile_id, int start, unsigned *ret_compute)
{
        machine_lock(&machine->file->header.lock);
        int r = compute_create_locked(machine, gpu, instance, profile_id, start, ret_compute);
        machine_unlock(&machine->file->header.lock);
        return r;
}

int mig_compute_destroy(struct machine *machine, unsigned index, unsigned i, unsigned k)
{
        struct machine_gpu *gpu = machine_gpu(machine, index);
        int r = 0;

        slot_reap(machine);
        machine_lock(&machine->file->header.lock);
        if (i >= INSTANCES || k >= COMPUTE || !gpu->instances[i].is_used ||
            !gpu->instances[i].compute[k].is_used)
                r = -ENOENT;
        else if (compute_is_busy(machine, gpu->instances[i].unit, k))
                r = -EBUSY;
        else
                gpu->instances[i].compute[k].is_used = 0;
        machine_unlock(&machine->file->header.lock);
        return r;
}

bool mig_find(const struct machine *machine, const char *uuid, unsigned *ret_gpu,
              unsigned *ret_instance, unsigned *ret_compute)
{
        size_t skip = strncasecmp(uuid, "MIG-", 4) == 0 ? 0 : 4;

        for (unsigned g = 0; g < machine->file->header.gpu_count; g++) {
                const struct machine_gpu *gpu = machine_gpu(machine, g);
                for (unsigned n = 0; n < INSTANCES * COMPUTE; n++) {
                        const struct machine_gpu_instance *instance = &gpu->instances[n / COMPUTE];
                        const struct machine_compute_instance *c = &instance->compute[n % COMPUTE];
                        if (!machine_mig_is_used(&instance->is_used) ||
                            !machine_mig_is_used(&c->is_used) || strcasecmp(uuid, c->uuid + skip))
                                continue;
                        *ret_gpu = g;
                        *ret_instance = n / COMPUTE;
                        *ret_compute = n % COMPUTE;
                        return true;
                }
        }
        return false;
}
