/* SPDX-License-Identifier: Apache-2.0 */
/* The right device is charged, however a program chooses among the GPUs: by number, UUID, the
 * beginning of one, or a MIG device. A limit goes by the position in NVML's order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "mig.h"
#include "nvml_prototypes.h"

/* Three GPUs of 10, 100 and 50 MiB. */
static void begin(const char *visible)
{
        setenv("CUDA_VISIBLE_DEVICES", visible, 1);
        setenv("VGPU_MEMORY_LIMIT_0", "10m", 1);
        setenv("VGPU_MEMORY_LIMIT_1", "100m", 1);
        setenv("VGPU_MEMORY_LIMIT_2", "50m", 1);
        guest_start(NULL);
}

/* CUDA's device 0 can have so much, and it comes from that GPU. */
static void check_whole(uint64_t limit_bytes, unsigned gpu)
{
        CUdeviceptr address;
        size_t total;

        CHECK_EQ(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
        CHECK_EQ(total, limit_bytes);
        CHECK_EQ(cuMemAlloc_v2(&address, limit_bytes + 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, limit_bytes), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(gpu), limit_bytes);
}

static const char *uuid_of(unsigned gpu)
{
        return machine_gpu(sim_machine_open(), gpu)->uuid;
}

SIM_TEST(a_gpu_by_its_number)
{
        guest_machine(3);
        begin("1");
        check_whole(100 * MIB, 1);
}

SIM_TEST(gpus_in_another_order)
{
        guest_machine(3);
        begin("2,0");
        check_whole(50 * MIB, 2);
}

SIM_TEST(a_gpu_by_its_uuid)
{
        guest_machine(3);
        begin(uuid_of(1));
        check_whole(100 * MIB, 1);
}

SIM_TEST(a_gpu_by_the_beginning_of_its_uuid)
{
        char prefix[16];

        guest_machine(3);
        snprintf(prefix, sizeof prefix, "%.12s", uuid_of(2));
        begin(prefix);
        check_whole(50 * MIB, 2);
}

/* Eight times half of a limit on the second of two GPUs: the classic that let all of them pass. */
SIM_TEST(a_list_of_uuids_does_not_multiply_a_limit)
{
        char list[128];
        unsigned passed = 0;

        guest_machine(3);
        snprintf(list, sizeof list, "%s,%s", uuid_of(1), uuid_of(0));
        begin(list);
        for (unsigned i = 0; i < 8; i++) {
                CUdeviceptr address;
                passed += cuMemAlloc_v2(&address, 50 * MIB) == CUDA_SUCCESS;
        }
        CHECK_EQ(passed, 2);
        CHECK_EQ(guest_device_bytes(1), 100 * MIB);
}

/* Where the environment lists the container's devices, limits go by that list. */
SIM_TEST(a_list_of_devices_gives_the_order)
{
        char list[160];

        guest_machine(3);
        snprintf(list, sizeof list, "%s,%s,%s", uuid_of(2), uuid_of(1), uuid_of(0));
        setenv("GPU_DEVICES_UUID", list, 1);
        begin("2");
        check_whole(10 * MIB, 2);
}

SIM_TEST(devices_named_one_by_one_give_the_order)
{
        guest_machine(3);
        setenv("MANAGER_VISIBLE_DEVICE_1", uuid_of(0), 1);
        setenv("MANAGER_VISIBLE_DEVICE_0", uuid_of(1), 1);
        setenv("MANAGER_VISIBLE_DEVICE_2", uuid_of(2), 1);
        begin("0");
        check_whole(100 * MIB, 0);
}

/* The second of two instances of one GPU. */
static void mig_machine(char ret_uuid[96])
{
        struct machine_spec spec;
        char path[128];

        machine_spec_init(&spec);
        spec.preset = "a100-40gb";
        spec.gpu_count = 1;
        spec.context_bytes = 0;
        sim_machine_from(&spec);
        snprintf(path, sizeof path, "%s" SIM_REGION, getenv("VGPU_SIM"));
        setenv("VGPU_REGION", path, 1);

        struct machine *machine = sim_machine_open();
        const struct machine_gpu_instance *instances = machine_gpu(machine, 0)->instances;
        unsigned instance, compute, first = 0, last;
        CHECK_EQ(mig_set_mode(machine, 0, true), 0);
        for (unsigned i = 0; i < 2; i++) {
                CHECK_EQ(mig_create(machine, 0, 19, MIG_ANYWHERE, &instance), 0);
                CHECK_EQ(mig_compute_create(machine, 0, instance, 0, MIG_ANYWHERE, &compute), 0);
                if (i == 0)
                        first = instance;
        }
        last = instances[instance].id > instances[first].id ? instance : first;
        snprintf(ret_uuid, 96, "%s", instances[last].compute[compute].uuid);
}

SIM_TEST(a_mig_device)
{
        CUdeviceptr address;
        size_t total;
        char uuid[96];

        mig_machine(uuid);
        setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
        guest_start("100m");
        CHECK_EQ(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
        CHECK_EQ(total, 100 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 102 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 100 * MIB);
}

SIM_TEST(a_mig_device_through_nvml)
{
        nvmlDevice_t device;
        nvmlMemory_t memory;
        CUdeviceptr address;
        char uuid[96];

        mig_machine(uuid);
        setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
        setenv("VGPU_MEMORY_LIMIT_0", "60m", 1); /* the other instance's */
        setenv("VGPU_MEMORY_LIMIT_1", "100m", 1);
        guest_start(NULL);
        CHECK_EQ(cuMemAlloc_v2(&address, 80 * MIB), CUDA_SUCCESS);
        CHECK_EQ(nvmlInit_v2(), NVML_SUCCESS);
        CHECK_EQ(nvmlDeviceGetHandleByUUID(uuid, &device), NVML_SUCCESS);
        CHECK_EQ(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
        CHECK_EQ(memory.total, 100 * MIB);
        CHECK_EQ(memory.used, 80 * MIB);
}

int main(void)
{
        return RUN(CASE(a_gpu_by_its_number), CASE(gpus_in_another_order), CASE(a_gpu_by_its_uuid),
                   CASE(a_gpu_by_the_beginning_of_its_uuid),
                   CASE(a_list_of_uuids_does_not_multiply_a_limit),
                   CASE(a_list_of_devices_gives_the_order),
                   CASE(devices_named_one_by_one_give_the_order), CASE(a_mig_device),
                   CASE(a_mig_device_through_nvml));
}
