/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of finding devices and of what they say of themselves. */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nvml_fixture.h"

SIM_TEST(a_device_is_found_by_all_its_names)
{
        nvmlDevice_t first = nvml_start("a100-40gb", 2), second = nvml_device(1), found;
        char uuid[96], serial[32], name[96];
        nvmlPciInfo_t pci;

        CHECK(first != second);
        GOOD(nvmlDeviceGetUUID(second, uuid, sizeof uuid));
        GOOD(nvmlDeviceGetHandleByUUID(uuid, &found));
        CHECK(found == second);
        GOOD(nvmlDeviceGetSerial(second, serial, sizeof serial));
        GOOD(nvmlDeviceGetHandleBySerial(serial, &found));
        CHECK(found == second);
        GOOD(nvmlDeviceGetPciInfo_v3(second, &pci));
        GOOD(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &found));
        CHECK(found == second);
        GOOD(nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy, &found));
        CHECK(found == second);
        GOOD(nvmlDeviceGetName(first, name, sizeof name));
        CHECK_STR(name, "NVIDIA A100-SXM4-40GB");
        CHECK_EQ(nvmlDeviceGetName(first, name, 4), NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(2, &found), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetHandleByUUID("GPU-none", &found), NVML_ERROR_NOT_FOUND);
        CHECK_EQ(nvmlDeviceGetHandleByPciBusId_v2("0000:FE:00.0", &found), NVML_ERROR_NOT_FOUND);
        CHECK_EQ(nvmlDeviceGetHandleByPciBusId_v2("bus", &found), NVML_ERROR_INVALID_ARGUMENT);
}

SIM_TEST(a_uuid_as_bytes_finds_the_same_device)
{
        nvmlDevice_t device = nvml_start("l4-24gb", 1), found;
        nvmlUUID_t uuid = { .version = NVML_VERSION_OF(nvmlUUID_t, 1), .type = 2 };
        char text[96];
        unsigned digits = 0;

        GOOD(nvmlDeviceGetUUID(device, text, sizeof text));
        for (const char *p = text + 4; *p; p++) {
                char pair[3] = { p[0], p[1], 0 };
                if (*p == '-')
                        continue;
                uuid.value.bytes[digits++] = (unsigned char)strtoul(pair, NULL, 16);
                p++;
        }
        CHECK_EQ(digits, 16);
        GOOD(nvmlDeviceGetHandleByUUIDV(&uuid, &found));
        CHECK(found == device);
        uuid.version = 0;
        CHECK_EQ(nvmlDeviceGetHandleByUUIDV(&uuid, &found), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

SIM_TEST(the_environment_of_cuda_does_not_hide_devices)
{
        nvmlDevice_t device;
        unsigned index;

        setenv("CUDA_VISIBLE_DEVICES", "1", 1);
        setenv("NVIDIA_VISIBLE_DEVICES", "none", 1);
        nvml_start("a100-40gb", 2);
        GOOD(nvmlDeviceGetHandleByIndex_v2(1, &device));
        GOOD(nvmlDeviceGetIndex(device, &index));
        CHECK_EQ(index, 1);
        GOOD(nvmlDeviceGetMinorNumber(device, &index));
        CHECK_EQ(index, 1);
}

SIM_TEST(modes_are_kept_by_the_machine)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlEnableState_t state, pending;
        nvmlComputeMode_t mode;
        unsigned limit_mw;

        GOOD(nvmlDeviceSetPersistenceMode(device, NVML_FEATURE_ENABLED));
        GOOD(nvmlDeviceSetComputeMode(device, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS));
        GOOD(nvmlDeviceSetPowerManagementLimit(device, 250000));
        GOOD(nvmlDeviceSetEccMode(device, NVML_FEATURE_DISABLED));
        GOOD(nvmlShutdown());
        GOOD(nvmlInit_v2());
        GOOD(nvmlDeviceGetPersistenceMode(device, &state));
        CHECK_EQ(state, NVML_FEATURE_ENABLED);
        GOOD(nvmlDeviceGetComputeMode(device, &mode));
        CHECK_EQ(mode, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
        GOOD(nvmlDeviceGetPowerManagementLimit(device, &limit_mw));
        CHECK_EQ(limit_mw, 250000);
        GOOD(nvmlDeviceGetPowerManagementDefaultLimit(device, &limit_mw));
        CHECK_EQ(limit_mw, 400000);
        GOOD(nvmlDeviceGetEccMode(device, &state, &pending));
        CHECK_EQ(state, NVML_FEATURE_ENABLED);
        CHECK_EQ(pending, NVML_FEATURE_DISABLED);
        CHECK_EQ(nvmlDeviceSetPowerManagementLimit(device, 1), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceSetComputeMode(device, (nvmlComputeMode_t)9),
                 NVML_ERROR_INVALID_ARGUMENT);
}

/* As root has it in a container. */
static void rights_lower(void)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

        CHECK_EQ(syscall(SYS_capget, &head, sets), 0);
        sets[0].effective &= ~(1u << CAP_SYS_ADMIN);
        CHECK_EQ(syscall(SYS_capset, &head, sets), 0);
}

SIM_TEST(what_all_would_meet_is_for_administrators)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlComputeMode_t mode;
        nvmlReturn_t activation;
        unsigned limit_mw;

        rights_lower();
        if (geteuid() != 0) { /* the machine is the user's own */
                GOOD(nvmlDeviceSetPersistenceMode(device, NVML_FEATURE_ENABLED));
                return;
        }
        CHECK_EQ(nvmlDeviceSetComputeMode(device, NVML_COMPUTEMODE_PROHIBITED),
                 NVML_ERROR_NO_PERMISSION);
        CHECK_EQ(nvmlDeviceSetPowerManagementLimit(device, 250000), NVML_ERROR_NO_PERMISSION);
        CHECK_EQ(nvmlDeviceSetMigMode(device, 1, &activation), NVML_ERROR_NO_PERMISSION);
        GOOD(nvmlDeviceGetComputeMode(device, &mode));
        CHECK_EQ(mode, NVML_COMPUTEMODE_DEFAULT);
        GOOD(nvmlDeviceGetPowerManagementLimit(device, &limit_mw));
        CHECK_EQ(limit_mw, 400000);
}

SIM_TEST(a_gpu_tells_only_what_it_has)
{
        nvmlDevice_t device = nvml_start("gtx-1050ti", 1);
        nvmlEnableState_t state, pending;
        unsigned current, value;
        char serial[32];

        CHECK_EQ(nvmlDeviceGetEccMode(device, &state, &pending), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetMigMode(device, &current, &value), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetSerial(device, serial, sizeof serial), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetNvLinkState(device, 0, &state), NVML_ERROR_NOT_SUPPORTED);
        GOOD(nvmlDeviceGetFanSpeed(device, &value));
        CHECK(value >= 30 && value <= 100);
        GOOD(nvmlDeviceGetNumFans(device, &value));
        CHECK_EQ(value, 1);
        CHECK_EQ(nvmlDeviceGetFanSpeed_v2(device, 1, &value), NVML_ERROR_INVALID_ARGUMENT);
}

SIM_TEST(boards_have_what_their_time_gave_them)
{
        nvmlDevice_t old = nvml_start("m60-8gb", 1);
        nvmlEnableState_t now, by_default;
        nvmlBridgeChipHierarchy_t bridge;
        unsigned long long flushed_us;
        unsigned long took_us;

        GOOD(nvmlDeviceGetBridgeChipInfo(old, &bridge));
        CHECK_EQ(bridge.bridgeCount, 1);
        CHECK_EQ(bridge.bridgeChipInfo[0].type, NVML_BRIDGE_CHIP_PLX);
        GOOD(nvmlDeviceSetAutoBoostedClocksEnabled(old, NVML_FEATURE_DISABLED));
        GOOD(nvmlDeviceGetAutoBoostedClocksEnabled(old, &now, &by_default));
        CHECK_EQ(now, NVML_FEATURE_DISABLED);
        CHECK_EQ(by_default, NVML_FEATURE_ENABLED);
        GOOD(nvmlDeviceSetDefaultAutoBoostedClocksEnabled(old, NVML_FEATURE_DISABLED, 0));
        GOOD(nvmlDeviceSetAutoBoostedClocksEnabled(old, NVML_FEATURE_ENABLED));
        GOOD(nvmlDeviceGetAutoBoostedClocksEnabled(old, &now, &by_default));
        CHECK_EQ(now, NVML_FEATURE_ENABLED);
        CHECK_EQ(by_default, NVML_FEATURE_DISABLED);
        CHECK_EQ(nvmlDeviceGetLastBBXFlushTime(old, &flushed_us, &took_us),
                 NVML_ERROR_NOT_SUPPORTED);
}

SIM_TEST(the_event_recorder_was_written_when_the_machine_came_up)
{
        uint64_t before_us = (uint64_t)time(NULL) * 1000000;
        nvmlDevice_t device = nvml_start("h100-80gb", 1);
        unsigned long long flushed_us, again_us;
        nvmlBridgeChipHierarchy_t bridge;
        nvmlEnableState_t now, by_default;
        unsigned long took_us;

        GOOD(nvmlDeviceGetLastBBXFlushTime(device, &flushed_us, &took_us));
        CHECK(flushed_us + 1000000 >= before_us);
        CHECK(flushed_us <= (uint64_t)(time(NULL) + 1) * 1000000);
        CHECK(took_us > 0 && took_us < 1000000);
        /* It stays; the clocks that it is reckoned from are read one after the other, and a busy host may
         * pause in between. */
        bool stays = false;
        for (unsigned tries = 0; tries < 20 && !stays; tries++) {
                GOOD(nvmlDeviceGetLastBBXFlushTime(device, &flushed_us, &took_us));
                usleep(20000);
                GOOD(nvmlDeviceGetLastBBXFlushTime(device, &again_us, &took_us));
                stays = again_us - flushed_us + 1000 < 2000;
        }
        CHECK(stays);
        CHECK_EQ(nvmlDeviceGetBridgeChipInfo(device, &bridge), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetAutoBoostedClocksEnabled(device, &now, &by_default),
                 NVML_ERROR_NOT_SUPPORTED);
}

SIM_TEST(supported_clocks_come_in_lists_of_the_right_length)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        unsigned memory[8], clocks[256], count = 0;

        CHECK_EQ(nvmlDeviceGetSupportedMemoryClocks(device, &count, memory),
                 NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(count, 1);
        GOOD(nvmlDeviceGetSupportedMemoryClocks(device, &count, memory));
        CHECK_EQ(memory[0], 1215);
        count = 256;
        GOOD(nvmlDeviceGetSupportedGraphicsClocks(device, 1215, &count, clocks));
        CHECK_EQ(count, 81);
        CHECK_EQ(clocks[0], 1410);
        CHECK_EQ(clocks[80], 210);
        CHECK_EQ(nvmlDeviceGetSupportedGraphicsClocks(device, 1, &count, clocks),
                 NVML_ERROR_NOT_FOUND);
        GOOD(nvmlDeviceSetApplicationsClocks(device, 1215, 1050));
        GOOD(nvmlDeviceGetApplicationsClock(device, NVML_CLOCK_SM, &count));
        CHECK_EQ(count, 1050);
        GOOD(nvmlDeviceResetApplicationsClocks(device));
        GOOD(nvmlDeviceGetApplicationsClock(device, NVML_CLOCK_SM, &count));
        CHECK_EQ(count, 1410);
}

SIM_TEST(links_lead_through_the_switch)
{
        nvmlDevice_t first = nvml_start("a100-40gb", 2), second = nvml_device(1);
        nvmlIntNvLinkDeviceType_t type;
        nvmlGpuP2PStatus_t status;
        nvmlEnableState_t state;
        nvmlPciInfo_t pci;
        unsigned value;

        for (unsigned link = 0; link < 12; link++) {
                GOOD(nvmlDeviceGetNvLinkState(first, link, &state));
                CHECK_EQ(state, NVML_FEATURE_ENABLED);
        }
        CHECK_EQ(nvmlDeviceGetNvLinkState(first, 12, &state), NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetNvLinkState(first, 18, &state), NVML_ERROR_INVALID_ARGUMENT);
        GOOD(nvmlDeviceGetNvLinkRemoteDeviceType(first, 3, &type));
        CHECK_EQ(type, NVML_NVLINK_DEVICE_TYPE_SWITCH);
        GOOD(nvmlDeviceGetNvLinkRemotePciInfo_v2(first, 3, &pci));
        CHECK_EQ(pci.pciDeviceId, 0x1af110de);
        GOOD(nvmlDeviceGetNvLinkCapability(first, 0, NVML_NVLINK_CAP_P2P_SUPPORTED, &value));
        CHECK_EQ(value, 1);
        GOOD(nvmlDeviceGetP2PStatus(first, second, NVML_P2P_CAPS_INDEX_NVLINK, &status));
        CHECK_EQ(status, NVML_P2P_STATUS_OK);
}

SIM_TEST(direct_links_name_their_peer)
{
        nvmlDevice_t first = nvml_start("v100-16gb", 2), second = nvml_device(1);
        nvmlPciInfo_t remote, own;

        GOOD(nvmlDeviceGetNvLinkRemotePciInfo_v2(first, 0, &remote));
        GOOD(nvmlDeviceGetPciInfo_v3(second, &own));
        CHECK_STR(remote.busId, own.busId);
}

SIM_TEST(near_gpus_are_nearer_than_far_ones)
{
        nvmlDevice_t first = nvml_start("t4-16gb", 4), near[4];
        nvmlGpuTopologyLevel_t level;
        nvmlGpuP2PStatus_t status;
        unsigned count = 4;
        unsigned long nodes[1], cpus[4];

        GOOD(nvmlDeviceGetTopologyCommonAncestor(first, nvml_device(1), &level));
        CHECK_EQ(level, NVML_TOPOLOGY_MULTIPLE);
        GOOD(nvmlDeviceGetTopologyCommonAncestor(first, nvml_device(3), &level));
        CHECK_EQ(level, NVML_TOPOLOGY_SYSTEM);
        GOOD(nvmlDeviceGetTopologyNearestGpus(first, NVML_TOPOLOGY_SYSTEM, &count, near));
        CHECK_EQ(count, 2);
        CHECK(near[0] == nvml_device(2) && near[1] == nvml_device(3));
        GOOD(nvmlDeviceGetP2PStatus(first, nvml_device(1), NVML_P2P_CAPS_INDEX_NVLINK, &status));
        CHECK_EQ(status, NVML_P2P_STATUS_NOT_SUPPORTED);
        GOOD(nvmlDeviceGetMemoryAffinity(nvml_device(3), 1, nodes, NVML_AFFINITY_SCOPE_NODE));
        CHECK_EQ(nodes[0], 2);
        GOOD(nvmlDeviceGetCpuAffinity(first, 4, cpus));
        CHECK(cpus[0] | cpus[1] | cpus[2] | cpus[3]);
}

int main(void)
{
        return RUN(CASE(a_device_is_found_by_all_its_names),
                   CASE(a_uuid_as_bytes_finds_the_same_device),
                   CASE(the_environment_of_cuda_does_not_hide_devices),
                   CASE(modes_are_kept_by_the_machine),
                   CASE(what_all_would_meet_is_for_administrators),
                   CASE(a_gpu_tells_only_what_it_has), CASE(boards_have_what_their_time_gave_them),
                   CASE(the_event_recorder_was_written_when_the_machine_came_up),
                   CASE(supported_clocks_come_in_lists_of_the_right_length),
                   CASE(links_lead_through_the_switch), CASE(direct_links_name_their_peer),
                   CASE(near_gpus_are_nearer_than_far_ones));
}
