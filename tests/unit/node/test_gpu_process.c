/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of who is on the GPUs: a driver of the test's own, with a whole GPU and one in MIG mode. */
#include "gpu_process.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

/* Handles: 1 and 2 are GPUs, 21 … are the parts of the second. */
static nvmlDevice_t device_of(uintptr_t number)
{
        return (nvmlDevice_t)number;
}

static nvmlReturn_t handle(unsigned int index, nvmlDevice_t *ret_device)
{
        *ret_device = device_of(index + 1);
        return NVML_SUCCESS;
}

static nvmlReturn_t mig_count(nvmlDevice_t device, unsigned int *ret_count)
{
        *ret_count = device == device_of(2) ? 7 : 0;
        return NVML_SUCCESS;
}

/* Indices 0 and 3. */
static nvmlReturn_t mig_handle(nvmlDevice_t device, unsigned int index, nvmlDevice_t *ret_part)
{
        if (device != device_of(2) || (index != 0 && index != 3))
                return NVML_ERROR_NOT_FOUND;
        *ret_part = device_of(21 + index);
        return NVML_SUCCESS;
}

static nvmlReturn_t uuid(nvmlDevice_t device, char *text, unsigned int bytes)
{
        snprintf(text, bytes, "MIG-%u", (unsigned)(uintptr_t)device);
        return NVML_SUCCESS;
}

/* One process on each, of its handle's number; the driver says nothing of a GPU in MIG mode. */
static nvmlReturn_t processes(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
        const unsigned number = (unsigned)(uintptr_t)device;

        if (number == 2)
                return NVML_ERROR_NO_PERMISSION;
        *count = 1;
        infos[0] = (nvmlProcessInfo_t){ .pid = number, .usedGpuMemory = number * 100 };
        return NVML_SUCCESS;
}

/* On the first GPU: one that computes too, and one that only draws. */
static nvmlReturn_t processes_that_draw(nvmlDevice_t device, unsigned int *count,
                                        nvmlProcessInfo_t *infos)
{
        if (device != device_of(1))
                return NVML_ERROR_NOT_SUPPORTED;
        *count = 2;
        infos[0] = (nvmlProcessInfo_t){ .pid = 1, .usedGpuMemory = 100 };
        infos[1] = (nvmlProcessInfo_t){ .pid = 7, .usedGpuMemory = 700 };
        return NVML_SUCCESS;
}

/* On the first GPU: the driver may know more of a client than the list before said. */
static nvmlReturn_t processes_of_mps(nvmlDevice_t device, unsigned int *count,
                                     nvmlProcessInfo_t *infos)
{
        *count = device == device_of(1) ? 2 : 0;
        infos[0] = (nvmlProcessInfo_t){ .pid = 8, .usedGpuMemory = 800 };
        infos[1] = (nvmlProcessInfo_t){ .pid = 1, .usedGpuMemory = 150 };
        return NVML_SUCCESS;
}

/* A tenant starts as many as it likes; the driver does not give a part of a list. */
enum { CROWD = 5000 };
static nvmlReturn_t crowd(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
        const bool fits = *count >= CROWD;

        (void)device;
        *count = CROWD;
        for (unsigned i = 0; fits && i < CROWD; i++)
                infos[i] = (nvmlProcessInfo_t){ .pid = i + 1, .usedGpuMemory = 1 };
        return fits ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

static nvmlReturn_t mig(nvmlDevice_t device, unsigned int *mode, unsigned int *pending)
{
        *mode = *pending = device == device_of(2);
        return NVML_SUCCESS;
}

static void read_all(bool draw, struct gpu_set *set, struct vec *ret_processes)
{
        const struct nvml nvml = { .handle = handle,
                                   .mig = mig,
                                   .mig_count = mig_count,
                                   .mig_handle = mig_handle,
                                   .uuid = uuid,
                                   .processes = processes,
                                   .processes_that_draw = draw ? processes_that_draw : NULL,
                                   .processes_of_mps = draw ? processes_of_mps : NULL };

        *set = (struct gpu_set){ .count = 2 };
        strcpy(set->gpus[0].uuid, "GPU-1");
        strcpy(set->gpus[1].uuid, "GPU-2");
        set->gpus[1].index = 1;
        set->gpus[1].is_mig = true;
        set->gpus[0].is_healthy = set->gpus[1].is_healthy = true;
        gpu_process_read(&nvml, set, ret_processes);
}

TEST(processes_of_a_gpu_that_is_cut_are_those_of_its_parts)
{
        struct vec all = VEC_OF(struct gpu_process);
        static struct gpu_set set;
        static const struct {
                const char *uuid;
                uint32_t pid;
        } expected[] = { { "GPU-1", 1 }, { "MIG-21", 21 }, { "MIG-24", 24 } };

        read_all(false, &set, &all);
        CHECK_EQ(all.count, 3);
        for (size_t i = 0; i < 3; i++) {
                const struct gpu_process *process = vec_at(&all, i);

                CHECK_STR(process->uuid, expected[i].uuid);
                CHECK_EQ(process->pid, expected[i].pid);
                CHECK_EQ(process->bytes, expected[i].pid * 100);
        }
        vec_done(&all);
}

/* Vulkan's and OpenGL's memory would be nobody's otherwise. */
TEST(who_draws_and_who_uses_mps_is_on_the_gpu_too_and_counts_once)
{
        struct vec all = VEC_OF(struct gpu_process);
        static struct gpu_set set;
        static const struct {
                const char *uuid;
                uint32_t pid;
                uint64_t bytes;
        } expected[] = { { "GPU-1", 1, 150 },
                         { "GPU-1", 7, 700 },
                         { "GPU-1", 8, 800 },
                         { "MIG-21", 21, 2100 },
                         { "MIG-24", 24, 2400 } };

        read_all(true, &set, &all);
        CHECK_EQ(all.count, 5);
        for (size_t i = 0; i < 5; i++) {
                const struct gpu_process *process = vec_at(&all, i);

                CHECK_STR(process->uuid, expected[i].uuid);
                CHECK_EQ(process->pid, expected[i].pid);
                CHECK_EQ(process->bytes, expected[i].bytes);
        }
        vec_done(&all);
}

TEST(a_crowd_of_processes_hides_nobody)
{
        const struct nvml nvml = { .handle = handle, .processes = crowd };
        static struct gpu_set set;
        struct vec all = VEC_OF(struct gpu_process);

        set.count = 1;
        set.gpus[0].is_healthy = true;
        gpu_process_read(&nvml, &set, &all);
        CHECK_EQ(all.count, CROWD);
        CHECK_EQ(((const struct gpu_process *)vec_at(&all, CROWD - 1))->pid, CROWD);
        vec_done(&all);
}

int main(void)
{
        return RUN(CASE(processes_of_a_gpu_that_is_cut_are_those_of_its_parts),
                   CASE(who_draws_and_who_uses_mps_is_on_the_gpu_too_and_counts_once),
                   CASE(a_crowd_of_processes_hides_nobody));
}
