/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that each generation of a structure is filled to its own size and no further. */
#include "event.h"
#include "mig.h"
#include "nvml_fixture.h"

SIM_TEST(pci_info_has_three_sizes)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        WALLED(nvmlPciInfo_v1_t) v1;
        WALLED(nvmlPciInfo_v2_t) v2;
        WALLED(nvmlPciInfo_t) v3;

        WALL(v1), WALL(v2), WALL(v3);
        GOOD(nvmlDeviceGetPciInfo(device, (nvmlPciInfo_t *)&v1.value));
        GOOD(nvmlDeviceGetPciInfo_v2(device, (nvmlPciInfo_t *)&v2.value));
        GOOD(nvmlDeviceGetPciInfo_v3(device, &v3.value));
        CHECK_WALLS(v1), CHECK_WALLS(v2), CHECK_WALLS(v3);
        CHECK_STR(v1.value.busId, "0000:01:00.0");
        CHECK_EQ(v1.value.pciDeviceId, 0x20b010de);
        CHECK_EQ(v2.value.pciSubSystemId, 0x134f10de);
        CHECK_STR(v3.value.busId, "00000000:01:00.0");
        CHECK_STR(v3.value.busIdLegacy, "0000:01:00.0");
}

SIM_TEST(remote_pci_info_has_two_sizes)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 2);
        WALLED(nvmlPciInfo_v2_t) v1;
        WALLED(nvmlPciInfo_t) v2;

        WALL(v1), WALL(v2);
        GOOD(nvmlDeviceGetNvLinkRemotePciInfo(device, 0, (nvmlPciInfo_t *)&v1.value));
        GOOD(nvmlDeviceGetNvLinkRemotePciInfo_v2(device, 0, &v2.value));
        CHECK_WALLS(v1), CHECK_WALLS(v2);
        CHECK_STR(v1.value.busId, v2.value.busIdLegacy);
}

SIM_TEST(memory_info_has_two_sizes_and_the_second_a_version)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        WALLED(nvmlMemory_t) v1;
        WALLED(nvmlMemory_v2_t) v2;

        WALL(v1), WALL(v2);
        GOOD(nvmlDeviceGetMemoryInfo(device, &v1.value));
        CHECK_EQ(nvmlDeviceGetMemoryInfo_v2(device, &v2.value),
                 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        v2.value.version = 40 | 2 << 24;
        GOOD(nvmlDeviceGetMemoryInfo_v2(device, &v2.value));
        CHECK_WALLS(v1), CHECK_WALLS(v2);
        v2.value.version = 40 | 1 << 24;
        CHECK_EQ(nvmlDeviceGetMemoryInfo_v2(device, &v2.value),
                 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

SIM_TEST(process_info_has_two_sizes)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        pid_t other = neighbour(0, MIB, false);
        WALLED(nvmlProcessInfo_v1_t) v1;
        WALLED(nvmlProcessInfo_v2_t) v2, v3;
        unsigned count = 1;

        WALL(v1), WALL(v2), WALL(v3);
        GOOD(nvmlDeviceGetComputeRunningProcesses(device, &count, &v1.value));
        GOOD(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, &v2.value));
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, &v3.value));
        CHECK_WALLS(v1), CHECK_WALLS(v2), CHECK_WALLS(v3);
        CHECK_EQ(v1.value.pid, other);
        CHECK_EQ(v3.value.pid, other);
        neighbour_kill(other);
}

SIM_TEST(event_data_has_two_sizes)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        WALLED(nvmlEventData_v1_t) v1;
        WALLED(nvmlEventData_t) v2;
        nvmlEventSet_t set;

        WALL(v1), WALL(v2);
        GOOD(nvmlEventSetCreate(&set));
        GOOD(nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, set));
        event_post(sim_machine_open(), 0, NVML_EVENT_XID, 13);
        event_post(sim_machine_open(), 0, NVML_EVENT_XID, 31);
        GOOD(nvmlEventSetWait(set, (nvmlEventData_t *)&v1.value, 100));
        GOOD(nvmlEventSetWait_v2(set, &v2.value, 100));
        CHECK_WALLS(v1), CHECK_WALLS(v2);
        CHECK_EQ(v1.value.eventData, 13);
        CHECK_EQ(v2.value.eventData, 31);
}

/* One instance of three slices with one compute instance, on a machine of one A100. */
static nvmlGpuInstance_t instance_make(nvmlDevice_t device, nvmlComputeInstance_t *ret_compute)
{
        nvmlGpuInstance_t instance;
        nvmlReturn_t activation;

        GOOD(nvmlDeviceSetMigMode(device, 1, &activation));
        GOOD(activation);
        GOOD(nvmlDeviceCreateGpuInstance(device, 9, &instance));
        GOOD(nvmlGpuInstanceCreateComputeInstance(instance, 2, ret_compute));
        return instance;
}

SIM_TEST(instance_profiles_have_three_sizes)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        WALLED(nvmlGpuInstanceProfileInfo_t) v1;
        WALLED(nvmlGpuInstanceProfileInfo_v2_t) v2;
        WALLED(nvmlGpuInstanceProfileInfo_v3_t) v3;
        unsigned kind = NVML_GPU_INSTANCE_PROFILE_2_SLICE;

        WALL(v1), WALL(v2), WALL(v3);
        GOOD(nvmlDeviceGetGpuInstanceProfileInfo(device, kind, &v1.value));
        CHECK_EQ(nvmlDeviceGetGpuInstanceProfileInfoV(device, kind, &v2.value),
                 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        v2.value.version = NVML_VERSION_OF(nvmlGpuInstanceProfileInfo_v2_t, 2);
        GOOD(nvmlDeviceGetGpuInstanceProfileInfoV(device, kind, &v2.value));
        v3.value.version = NVML_VERSION_OF(nvmlGpuInstanceProfileInfo_v3_t, 3);
        GOOD(nvmlDeviceGetGpuInstanceProfileInfoV(device, kind,
                                                  (nvmlGpuInstanceProfileInfo_v2_t *)&v3.value));
        CHECK_WALLS(v1), CHECK_WALLS(v2), CHECK_WALLS(v3);
        CHECK_EQ(v1.value.id, 14);
        CHECK_EQ(v2.value.memorySizeMB, 9856);
        CHECK_STR(v2.value.name, "MIG 2g.10gb");
        CHECK_EQ(v3.value.multiprocessorCount, 28);
        CHECK_STR(v3.value.name, "MIG 2g.10gb");
        CHECK_EQ(v3.value.capabilities, 0);
}

SIM_TEST(compute_instances_have_two_sizes_of_info_and_three_of_profile)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlComputeInstance_t compute;
        nvmlGpuInstance_t instance = instance_make(device, &compute);
        WALLED(nvmlComputeInstanceInfo_v1_t) i1;
        WALLED(nvmlComputeInstanceInfo_t) i2;
        WALLED(nvmlComputeInstanceProfileInfo_t) p1;
        WALLED(nvmlComputeInstanceProfileInfo_v2_t) p2;
        WALLED(nvmlComputeInstanceProfileInfo_v3_t) p3;

        WALL(i1), WALL(i2), WALL(p1), WALL(p2), WALL(p3);
        GOOD(nvmlComputeInstanceGetInfo(compute, (nvmlComputeInstanceInfo_t *)&i1.value));
        GOOD(nvmlComputeInstanceGetInfo_v2(compute, &i2.value));
        GOOD(nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 1, 0, &p1.value));
        p2.value.version = NVML_VERSION_OF(nvmlComputeInstanceProfileInfo_v2_t, 2);
        GOOD(nvmlGpuInstanceGetComputeInstanceProfileInfoV(instance, 1, 0, &p2.value));
        p3.value.version = NVML_VERSION_OF(nvmlComputeInstanceProfileInfo_v3_t, 3);
        GOOD(nvmlGpuInstanceGetComputeInstanceProfileInfoV(
                instance, 1, 0, (nvmlComputeInstanceProfileInfo_v2_t *)&p3.value));
        CHECK_WALLS(i1), CHECK_WALLS(i2), CHECK_WALLS(p1), CHECK_WALLS(p2), CHECK_WALLS(p3);
        CHECK(i1.value.gpuInstance == instance && i2.value.device == device);
        CHECK_EQ(i2.value.placement.size, 3);
        CHECK_EQ(p1.value.multiprocessorCount, 28);
        CHECK_STR(p2.value.name, "MIG 2c.3g.20gb");
        CHECK_EQ(p3.value.capabilities, 0);
}

SIM_TEST(device_attributes_have_two_sizes)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1), mig;
        nvmlComputeInstance_t compute;
        struct {
                unsigned char value[32], after[64];
        } v1;
        WALLED(nvmlDeviceAttributes_t) v2;

        instance_make(device, &compute);
        GOOD(nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &mig));
        memset(&v1, CANARY, sizeof v1), WALL(v2);
        GOOD(nvmlDeviceGetAttributes(mig, (nvmlDeviceAttributes_t *)&v1));
        GOOD(nvmlDeviceGetAttributes_v2(mig, &v2.value));
        for (size_t i = 0; i < sizeof v1.after; i++)
                CHECK_EQ(v1.after[i], CANARY);
        CHECK_WALLS(v2);
        CHECK_EQ(v2.value.multiprocessorCount, 42);
        CHECK_EQ(v2.value.memorySizeMB, 19968);
        CHECK_EQ(nvmlDeviceGetAttributes_v2(device, &v2.value), NVML_ERROR_NOT_SUPPORTED);
}

SIM_TEST(fabric_info_has_three_sizes)
{
        nvmlDevice_t device = nvml_start("h100-80gb", 2);
        WALLED(nvmlGpuFabricInfo_t) v1;
        WALLED(nvmlGpuFabricInfoV_t) v2;
        WALLED(nvmlGpuFabricInfo_v3_t) v3;

        WALL(v1), WALL(v2), WALL(v3);
        GOOD(nvmlDeviceGetGpuFabricInfo(device, &v1.value));
        v2.value.version = NVML_VERSION_OF(nvmlGpuFabricInfoV_t, 2);
        GOOD(nvmlDeviceGetGpuFabricInfoV(device, &v2.value));
        v3.value.version = NVML_VERSION_OF(nvmlGpuFabricInfo_v3_t, 3);
        GOOD(nvmlDeviceGetGpuFabricInfoV(device, (nvmlGpuFabricInfoV_t *)&v3.value));
        CHECK_WALLS(v1), CHECK_WALLS(v2), CHECK_WALLS(v3);
        CHECK_EQ(v1.value.state, 3);
        CHECK_EQ(v3.value.state, 3);
}

/* Every function that takes a versioned structure refuses one without its version. */
SIM_TEST(a_structure_without_its_version_is_refused_and_untouched)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        union {
                unsigned char bytes[4096];
                unsigned int version;
        } any;
        const nvmlReturn_t refused = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;

        memset(&any, CANARY, sizeof any);
        CHECK_EQ(nvmlDeviceGetPciInfoExt(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetTemperatureV(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetMarginTemperature(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetSramEccErrorStatus(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetProcessesUtilizationInfo(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetFanSpeedRPM(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetCoolerInfo(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetClockOffsets(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetPerformanceModes(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetCurrentClockFreqs(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetGpuFabricInfoV(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetCapabilities(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetAddressingMode(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetPdi(device, (void *)&any), refused);
        CHECK_EQ(nvmlDeviceGetRepairStatus(device, (void *)&any), refused);
        CHECK_EQ(nvmlSystemGetDriverBranch((void *)&any, 80), refused);
        CHECK_EQ(nvmlSystemGetConfComputeSettings((void *)&any), refused);
        CHECK_EQ(nvmlGpmQueryDeviceSupport(device, (void *)&any), refused);
        for (size_t i = 0; i < sizeof any; i++)
                CHECK_EQ(any.bytes[i], CANARY);
}

int main(void)
{
        return RUN(CASE(pci_info_has_three_sizes), CASE(remote_pci_info_has_two_sizes),
                   CASE(memory_info_has_two_sizes_and_the_second_a_version),
                   CASE(process_info_has_two_sizes), CASE(event_data_has_two_sizes),
                   CASE(instance_profiles_have_three_sizes),
                   CASE(compute_instances_have_two_sizes_of_info_and_three_of_profile),
                   CASE(device_attributes_have_two_sizes), CASE(fabric_info_has_three_sizes),
                   CASE(a_structure_without_its_version_is_refused_and_untouched));
}
