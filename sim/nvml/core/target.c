/* SPDX-License-Identifier: Apache-2.0 */
/* target: handles and what they stand for. */
#include "target.h"

#include <string.h>

enum {
        PER_GPU = 1 + TARGET_INSTANCES * TARGET_INSTANCES, /* the GPU, then its MIG devices */
};

struct nvmlDevice_st {
        char byte;
};
struct nvmlGpuInstance_st {
        char byte;
};
struct nvmlComputeInstance_st {
        char byte;
};

/* Only their addresses mean something. */
static struct {
        struct nvmlDevice_st devices[MACHINE_GPUS * PER_GPU];
        struct nvmlGpuInstance_st instances[MACHINE_GPUS * TARGET_INSTANCES];
        struct nvmlComputeInstance_st computes[MACHINE_GPUS * TARGET_INSTANCES * TARGET_INSTANCES];
} target;

nvmlDevice_t target_handle(unsigned gpu)
{
        return &target.devices[gpu * PER_GPU];
}

nvmlDevice_t target_mig_handle(unsigned gpu, unsigned instance, unsigned compute)
{
        return &target.devices[gpu * PER_GPU + 1 + instance * TARGET_INSTANCES + compute];
}

nvmlGpuInstance_t target_instance_handle(unsigned gpu, unsigned instance)
{
        return &target.instances[gpu * TARGET_INSTANCES + instance];
}

nvmlComputeInstance_t target_compute_handle(unsigned gpu, unsigned instance, unsigned compute)
{
        return &target.computes[(gpu * TARGET_INSTANCES + instance) * TARGET_INSTANCES + compute];
}

/* Which entry of a table a handle is, if it is one at all. */
static bool handle_index(const void *handle, const void *table, size_t entries, unsigned *ret_index)
{
        uintptr_t offset = (uintptr_t)handle - (uintptr_t)table;

        if (offset >= entries)
                return false;
        *ret_index = (unsigned)offset;
        return true;
}

static nvmlReturn_t fill_gpu(unsigned index, struct target *ret_target)
{
        struct machine *machine = session_machine();

        if (index >= machine->file->header.gpu_count)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_target = (struct target){
                .machine = machine,
                .gpu = machine_gpu(machine, index),
                .index = index,
                .unit = index * MACHINE_UNITS_PER_GPU,
        };
        return atomic_load(&ret_target->gpu->is_lost) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

static nvmlReturn_t fill_instance(unsigned index, unsigned instance, struct target *ret_target)
{
        nvmlReturn_t r = fill_gpu(index, ret_target);

        if (r != NVML_SUCCESS)
                return r;
        ret_target->instance = &ret_target->gpu->instances[instance];
        if (!machine_mig_is_used(&ret_target->instance->is_used))
                return NVML_ERROR_INVALID_ARGUMENT;
        ret_target->unit = ret_target->instance->unit;
        return NVML_SUCCESS;
}

static nvmlReturn_t fill_compute(unsigned index, unsigned instance, unsigned compute,
                                 struct target *ret_target)
{
        nvmlReturn_t r = fill_instance(index, instance, ret_target);

        if (r != NVML_SUCCESS)
                return r;
        ret_target->compute = &ret_target->instance->compute[compute];
        return machine_mig_is_used(&ret_target->compute->is_used) ? NVML_SUCCESS
                                                                  : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t target_any(nvmlDevice_t device, const void *answer, struct target *ret_target)
{
        unsigned index;

        if (!answer || !handle_index(device, target.devices, sizeof target.devices, &index))
                return NVML_ERROR_INVALID_ARGUMENT;
        unsigned within = index % PER_GPU;
        if (within == 0)
                return fill_gpu(index / PER_GPU, ret_target);
        return fill_compute(index / PER_GPU, (within - 1) / TARGET_INSTANCES,
                            (within - 1) % TARGET_INSTANCES, ret_target);
}

nvmlReturn_t target_gpu(nvmlDevice_t device, const void *answer, struct target *ret_target)
{
        nvmlReturn_t r = target_any(device, answer, ret_target);

        if (r == NVML_SUCCESS && ret_target->compute)
                return NVML_ERROR_INVALID_ARGUMENT;
        return r;
}

nvmlReturn_t target_instance(nvmlGpuInstance_t handle, const void *answer,
                             struct target *ret_target)
{
        unsigned index;

        if (!answer || !handle_index(handle, target.instances, sizeof target.instances, &index))
                return NVML_ERROR_INVALID_ARGUMENT;
        return fill_instance(index / TARGET_INSTANCES, index % TARGET_INSTANCES, ret_target);
}

nvmlReturn_t target_compute(nvmlComputeInstance_t handle, const void *answer,
                            struct target *ret_target)
{
        unsigned index;

        if (!answer || !handle_index(handle, target.computes, sizeof target.computes, &index))
                return NVML_ERROR_INVALID_ARGUMENT;
        unsigned instance = index / TARGET_INSTANCES;
        return fill_compute(instance / TARGET_INSTANCES, instance % TARGET_INSTANCES,
                            index % TARGET_INSTANCES, ret_target);
}

unsigned target_instance_index(const struct target *of)
{
        return (unsigned)(of->instance - of->gpu->instances);
}

unsigned target_compute_index(const struct target *of)
{
        return (unsigned)(of->compute - of->instance->compute);
}

nvmlReturn_t target_text(const char *text, char *buffer, unsigned length)
{
        size_t bytes = strlen(text) + 1;

        if (!buffer)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (bytes > length)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(buffer, text, bytes);
        return NVML_SUCCESS;
}

bool target_list_fits(unsigned *count, unsigned needed, const void *items, nvmlReturn_t *ret_result)
{
        unsigned capacity = *count;

        *ret_result = NVML_SUCCESS;
        *count = needed;
        if (needed == 0)
                return false;
        if (capacity < needed) {
                *ret_result = NVML_ERROR_INSUFFICIENT_SIZE;
                return false;
        }
        if (!items) {
                *ret_result = NVML_ERROR_INVALID_ARGUMENT;
                return false;
        }
        return true;
}
