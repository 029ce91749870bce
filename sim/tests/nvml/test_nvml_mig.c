/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a MIG manager's work: modes, instances, placements, devices. */
#include "cuda_prototypes.h"
#include "mig.h"
#include "nvml_fixture.h"

static nvmlDevice_t mig_start(const char *preset, unsigned gpus)
{
        nvmlDevice_t device = nvml_start(preset, gpus);
        nvmlReturn_t activation;

        GOOD(nvmlDeviceSetMigMode(device, 1, &activation));
        GOOD(activation);
        return device;
}

static nvmlGpuInstance_t cut(nvmlDevice_t device, unsigned profile)
{
        nvmlGpuInstance_t instance = NULL;

        GOOD(nvmlDeviceCreateGpuInstance(device, profile, &instance));
        return instance;
}

/* The whole of the instance as one device. */
static void fill(nvmlGpuInstance_t instance, unsigned profile)
{
        nvmlComputeInstance_t compute;

        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, profile, &compute));
}

SIM_TEST(the_mode_waits_until_the_gpu_is_idle)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 2);
        pid_t other = neighbour(0, MIB, false);
        unsigned current, pending;
        nvmlReturn_t activation;

        GOOD(nvmlDeviceSetMigMode(device, 1, &activation));
        CHECK_EQ(activation, NVML_ERROR_IN_USE);
        GOOD(nvmlDeviceGetMigMode(device, &current, &pending));
        CHECK_EQ(current, 0);
        CHECK_EQ(pending, 1);
        neighbour_kill(other);
        GOOD(nvmlDeviceSetMigMode(device, 1, &activation));
        GOOD(activation);
        GOOD(nvmlDeviceGetMigMode(device, &current, &pending));
        CHECK_EQ(current, 1);
        GOOD(nvmlDeviceGetMigMode(nvml_device(1), &current, &pending));
        CHECK_EQ(current + pending, 0);
        CHECK_EQ(nvmlDeviceSetMigMode(device, 2, &activation), NVML_ERROR_INVALID_ARGUMENT);
}

SIM_TEST(a_gpu_without_mig_refuses_it)
{
        nvmlDevice_t device = nvml_start("t4-16gb", 1);
        nvmlGpuInstance_t instance;
        nvmlReturn_t activation;
        unsigned count;

        CHECK_EQ(nvmlDeviceSetMigMode(device, 1, &activation), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceCreateGpuInstance(device, 19, &instance), NVML_ERROR_NOT_SUPPORTED);
        GOOD(nvmlDeviceGetMaxMigDeviceCount(device, &count));
        CHECK_EQ(count, 0);
}

SIM_TEST(instances_need_the_mode)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1), mig;
        nvmlGpuInstance_t instance;

        CHECK_EQ(nvmlDeviceCreateGpuInstance(device, 19, &instance), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &mig), NVML_ERROR_NOT_SUPPORTED);
}

SIM_TEST(a_device_lives_from_creation_to_destruction)
{
        nvmlDevice_t device = mig_start("a100-40gb", 1), mig, found, parent;
        nvmlGpuInstance_t instance = cut(device, 9), same;
        nvmlComputeInstance_t compute;
        char uuid[96], name[96];
        unsigned value;

        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, 2, &compute));
        GOOD(nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &mig));
        CHECK_EQ(nvmlDeviceGetMigDeviceHandleByIndex(device, 1, &found), NVML_ERROR_NOT_FOUND);
        CHECK_EQ(nvmlDeviceGetMigDeviceHandleByIndex(device, 7, &found),
                 NVML_ERROR_INVALID_ARGUMENT);
        GOOD(nvmlDeviceGetUUID(mig, uuid, sizeof uuid));
        CHECK(strncmp(uuid, "MIG-", 4) == 0);
        CHECK_EQ(strlen(uuid), 40);
        GOOD(nvmlDeviceGetHandleByUUID(uuid, &found));
        CHECK(found == mig);
        GOOD(nvmlDeviceGetName(mig, name, sizeof name));
        CHECK_STR(name, "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
        GOOD(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &parent));
        CHECK(parent == device);
        CHECK_EQ(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device, &parent),
                 NVML_ERROR_INVALID_ARGUMENT);
        GOOD(nvmlDeviceIsMigDeviceHandle(mig, &value));
        CHECK_EQ(value, 1);
        GOOD(nvmlDeviceIsMigDeviceHandle(device, &value));
        CHECK_EQ(value, 0);
        GOOD(nvmlDeviceGetGpuInstanceId(mig, &value));
        GOOD(nvmlDeviceGetGpuInstanceById(device, value, &same));
        CHECK(same == instance);
        CHECK_EQ(nvmlGpuInstanceDestroy(instance), NVML_ERROR_IN_USE);
        GOOD(nvmlComputeInstanceDestroy(compute));
        CHECK_EQ(nvmlDeviceGetUUID(mig, uuid, sizeof uuid), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetHandleByUUID(uuid, &found), NVML_ERROR_NOT_FOUND);
        GOOD(nvmlGpuInstanceDestroy(instance));
        CHECK_EQ(nvmlGpuInstanceDestroy(instance), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetGpuInstanceById(device, value, &same), NVML_ERROR_NOT_FOUND);
}

SIM_TEST(instances_have_memory_and_processes_of_their_own)
{
        nvmlDevice_t device = mig_start("a100-40gb", 1), big, small;
        nvmlUtilization_t rates;
        nvmlProcessInfo_t infos[4];
        nvmlMemory_t memory;
        unsigned count = 4, id;

        fill(cut(device, 9), 2);
        fill(cut(device, 19), 0);
        GOOD(nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &big));
        GOOD(nvmlDeviceGetMigDeviceHandleByIndex(device, 1, &small));
        /* Instances were made in this order, so they are the first two units. */
        pid_t other = neighbour(1, 64 * MIB, true);
        GOOD(nvmlDeviceGetMemoryInfo(big, &memory));
        CHECK_EQ(memory.total, 19968 * MIB);
        CHECK_EQ(memory.used, 68 * MIB);
        GOOD(nvmlDeviceGetMemoryInfo(small, &memory));
        CHECK_EQ(memory.total, 4864 * MIB);
        CHECK_EQ(memory.used, 0);
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(big, &count, infos));
        CHECK_EQ(count, 1);
        GOOD(nvmlDeviceGetGpuInstanceId(big, &id));
        CHECK_EQ(infos[0].gpuInstanceId, id);
        CHECK_EQ(infos[0].computeInstanceId, 0);
        count = 4;
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(small, &count, infos));
        CHECK_EQ(count, 0);
        count = 4;
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
        CHECK_EQ(count, 1);
        CHECK_EQ(nvmlDeviceGetUtilizationRates(device, &rates), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetUtilizationRates(big, &rates), NVML_ERROR_NOT_SUPPORTED);
        neighbour_kill(other);
        GOOD(nvmlDeviceGetMemoryInfo(big, &memory));
        CHECK_EQ(memory.used, 0);
}

SIM_TEST(an_instance_in_use_is_not_destroyed)
{
        nvmlDevice_t device = mig_start("a100-40gb", 1);
        nvmlGpuInstance_t instance = cut(device, 0);
        pid_t other = neighbour(1, MIB, false);
        nvmlReturn_t activation;

        CHECK_EQ(nvmlGpuInstanceDestroy(instance), NVML_ERROR_IN_USE);
        GOOD(nvmlDeviceSetMigMode(device, 0, &activation));
        CHECK_EQ(activation, NVML_ERROR_IN_USE);
        neighbour_kill(other);
        GOOD(nvmlGpuInstanceDestroy(instance));
        GOOD(nvmlDeviceSetMigMode(device, 0, &activation));
        GOOD(activation);
}

SIM_TEST(compute_instances_divide_an_instance)
{
        nvmlDevice_t device = mig_start("a100-40gb", 1), first, second;
        nvmlGpuInstance_t instance = cut(device, 9);
        nvmlComputeInstance_t one, two, three, none, listed[7];
        char a[96], b[96], name[96];
        unsigned count;

        GOOD(nvmlGpuInstanceGetComputeInstanceRemainingCapacity(instance, 0, &count));
        CHECK_EQ(count, 3);
        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, 0, &one));
        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, 0, &two));
        CHECK_EQ(nvmlGpuInstanceCreateComputeInstance(instance, 2, &none),
                 NVML_ERROR_INSUFFICIENT_RESOURCES);
        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, 0, &three));
        CHECK_EQ(nvmlGpuInstanceCreateComputeInstance(instance, 0, &none),
                 NVML_ERROR_INSUFFICIENT_RESOURCES);
        CHECK_EQ(nvmlGpuInstanceCreateComputeInstance(instance, 4, &none),
                 NVML_ERROR_NOT_SUPPORTED);
        GOOD(nvmlGpuInstanceGetComputeInstances(instance, 0, listed, &count));
        CHECK_EQ(count, 3);
        CHECK(listed[0] == one && listed[1] == two && listed[2] == three);
        GOOD(nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &first));
        GOOD(nvmlDeviceGetMigDeviceHandleByIndex(device, 1, &second));
        GOOD(nvmlDeviceGetUUID(first, a, sizeof a));
        GOOD(nvmlDeviceGetUUID(second, b, sizeof b));
        CHECK(strcmp(a, b) != 0);
        GOOD(nvmlDeviceGetName(first, name, sizeof name));
        CHECK_STR(name, "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb");
}

/* A CUDA program that is given one MIG device and holds a context on it. */
static pid_t cuda_on(const char *uuid)
{
        int ready[2];
        char byte;

        CHECK_EQ(pipe(ready), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
                CUcontext context;
                int count = 0;

                setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
                if (cuInit(0) || cuDeviceGetCount(&count) || count != 1 ||
                    cuDevicePrimaryCtxRetain(&context, 0) || write(ready[1], "!", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        close(ready[1]);
        CHECK_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        return child;
}

SIM_TEST(a_program_is_listed_on_the_compute_instance_it_was_given)
{
        nvmlDevice_t device = mig_start("a100-40gb", 1), devices[2];
        nvmlGpuInstance_t instance = cut(device, 9);
        nvmlComputeInstance_t one, two;
        nvmlProcessInfo_t infos[4];
        unsigned count = 4;
        char uuid[96];

        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, 0, &one));
        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, 0, &two));
        for (unsigned i = 0; i < 2; i++)
                GOOD(nvmlDeviceGetMigDeviceHandleByIndex(device, i, &devices[i]));
        GOOD(nvmlDeviceGetUUID(devices[1], uuid, sizeof uuid));
        pid_t other = cuda_on(uuid);
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(devices[0], &count, infos));
        CHECK_EQ(count, 0);
        count = 4;
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(devices[1], &count, infos));
        CHECK_EQ(count, 1);
        CHECK_EQ(infos[0].pid, other);
        CHECK_EQ(infos[0].computeInstanceId, 1);
        CHECK_EQ(nvmlComputeInstanceDestroy(two), NVML_ERROR_IN_USE);
        GOOD(nvmlComputeInstanceDestroy(one));
        neighbour_kill(other);
        GOOD(nvmlComputeInstanceDestroy(two));
}

SIM_TEST(placements_are_those_of_the_hardware)
{
        nvmlDevice_t device = mig_start("a100-40gb", 1);
        nvmlGpuInstancePlacement_t placements[8], wrong = { 1, 2 }, right = { 2, 2 };
        nvmlGpuInstance_t instance;
        nvmlGpuInstanceInfo_t info;
        unsigned count = 8;

        GOOD(nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, 14, placements, &count));
        CHECK_EQ(count, 3);
        CHECK(placements[0].start == 0 && placements[1].start == 2 && placements[2].start == 4);
        CHECK_EQ(placements[0].size, 2);
        CHECK_EQ(nvmlDeviceCreateGpuInstanceWithPlacement(device, 14, &wrong, &instance),
                 NVML_ERROR_INVALID_ARGUMENT);
        GOOD(nvmlDeviceCreateGpuInstanceWithPlacement(device, 14, &right, &instance));
        GOOD(nvmlGpuInstanceGetInfo(instance, &info));
        CHECK_EQ(info.placement.start, 2);
        CHECK_EQ(info.placement.size, 2);
        CHECK_EQ(info.profileId, 14);
        CHECK(info.device == device);
        CHECK_EQ(nvmlDeviceCreateGpuInstanceWithPlacement(device, 14, &right, &instance),
                 NVML_ERROR_INSUFFICIENT_RESOURCES);
        CHECK_EQ(nvmlDeviceCreateGpuInstance(device, 0, &instance),
                 NVML_ERROR_INSUFFICIENT_RESOURCES);
        CHECK_EQ(nvmlDeviceCreateGpuInstance(device, 77, &instance), NVML_ERROR_INVALID_ARGUMENT);
        GOOD(nvmlDeviceGetGpuInstanceRemainingCapacity(device, 9, &count));
        CHECK_EQ(count, 1);
        GOOD(nvmlDeviceGetGpuInstanceRemainingCapacity(device, 19, &count));
        CHECK_EQ(count, 5);
}

SIM_TEST(profiles_of_every_gpu_agree_with_its_memory)
{
        static const char *const presets[] = { "a100-40gb", "a100-80gb", "h100-80gb", "h200-141gb",
                                               "a30-24gb" };

        for (size_t p = 0; p < sizeof presets / sizeof presets[0]; p++) {
                unlink(getenv("VGPU_SIM"));
                nvmlDevice_t device = nvml_start(presets[p], 1);
                nvmlGpuInstanceProfileInfo_t info;
                nvmlMemory_t memory;
                unsigned found = 0;

                GOOD(nvmlDeviceGetMemoryInfo(device, &memory));
                for (unsigned kind = 0; kind < NVML_GPU_INSTANCE_PROFILE_COUNT; kind++) {
                        nvmlReturn_t r = nvmlDeviceGetGpuInstanceProfileInfo(device, kind, &info);
                        if (r == NVML_ERROR_NOT_SUPPORTED)
                                continue;
                        GOOD(r);
                        CHECK(info.memorySizeMB * info.instanceCount <= memory.total / MIB);
                        CHECK(info.sliceCount * info.instanceCount <= 7);
                        found++;
                }
                CHECK(found >= 5);
                GOOD(nvmlShutdown());
        }
}

int main(void)
{
        return RUN(CASE(the_mode_waits_until_the_gpu_is_idle), CASE(a_gpu_without_mig_refuses_it),
                   CASE(instances_need_the_mode), CASE(a_device_lives_from_creation_to_destruction),
                   CASE(instances_have_memory_and_processes_of_their_own),
                   CASE(an_instance_in_use_is_not_destroyed),
                   CASE(compute_instances_divide_an_instance),
                   CASE(a_program_is_listed_on_the_compute_instance_it_was_given),
                   CASE(placements_are_those_of_the_hardware),
                   CASE(profiles_of_every_gpu_agree_with_its_memory));
}
