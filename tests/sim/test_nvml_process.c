/* Tests of memory, processes and load as another process causes them. */
#include "nvml_fixture.h"

static uint64_t used_bytes(nvmlDevice_t device)
{
        nvmlMemory_v2_t memory = { .version = NVML_VERSION_OF(nvmlMemory_v2_t, 2) };

        GOOD(nvmlDeviceGetMemoryInfo_v2(device, &memory));
        CHECK_EQ(memory.total, memory.used + memory.free + memory.reserved);
        return memory.used;
}

SIM_TEST(memory_is_total_used_free_and_reserved)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlMemory_t memory;
        nvmlBAR1Memory_t bar1;

        CHECK_EQ(used_bytes(device), 0);
        GOOD(nvmlDeviceGetMemoryInfo(device, &memory));
        CHECK_EQ(memory.total, 40960 * MIB);
        CHECK_EQ(memory.used, 622 * MIB);
        CHECK_EQ(memory.free + memory.used, memory.total);
        GOOD(nvmlDeviceGetBAR1MemoryInfo(device, &bar1));
        CHECK_EQ(bar1.bar1Total, bar1.bar1Free + bar1.bar1Used);
}

SIM_TEST(the_memory_of_another_process_is_seen_until_it_dies)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 2);
        pid_t other = neighbour(0, 100 * MIB, false);
        nvmlProcessInfo_t infos[4];
        unsigned count = 4;
        char name[256];

        CHECK_EQ(used_bytes(device), 104 * MIB);
        CHECK_EQ(used_bytes(nvml_device(1)), 0);
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
        CHECK_EQ(count, 1);
        CHECK_EQ(infos[0].pid, other);
        CHECK_EQ(infos[0].usedGpuMemory, 104 * MIB);
        CHECK_EQ(infos[0].gpuInstanceId, NVML_ID_NONE);
        GOOD(nvmlSystemGetProcessName((unsigned)other, name, sizeof name));
        CHECK(strstr(name, "test_sim_nvml_process") != NULL);
        count = 4;
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(nvml_device(1), &count, infos));
        CHECK_EQ(count, 0);
        neighbour_kill(other);
        CHECK_EQ(used_bytes(device), 0);
        count = 4;
        GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
        CHECK_EQ(count, 0);
        CHECK_EQ(nvmlSystemGetProcessName((unsigned)other, name, sizeof name), NVML_ERROR_NOT_FOUND);
}

SIM_TEST(a_list_that_does_not_fit_says_how_long_it_is)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        pid_t first = neighbour(0, 10 * MIB, false), second = neighbour(0, 20 * MIB, false);
        nvmlProcessInfo_v1_t v1[2];
        nvmlProcessDetail_v1_t details[2];
        nvmlProcessDetailList_t list = {
                .version = NVML_VERSION_OF(nvmlProcessDetailList_t, 1),
                .numProcArrayEntries = 1, .procArray = details,
        };
        unsigned count = 0;

        CHECK_EQ(nvmlDeviceGetComputeRunningProcesses(device, &count, NULL),
                 NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(count, 2);
        GOOD(nvmlDeviceGetComputeRunningProcesses(device, &count, v1));
        CHECK_EQ(v1[0].usedGpuMemory + v1[1].usedGpuMemory, 38 * MIB);
        CHECK_EQ(nvmlDeviceGetRunningProcessDetailList(device, &list), NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(list.numProcArrayEntries, 2);
        GOOD(nvmlDeviceGetRunningProcessDetailList(device, &list));
        CHECK(details[0].pid == (unsigned)first || details[1].pid == (unsigned)first);
        list.mode = NVML_PROCESS_MODE_GRAPHICS;
        GOOD(nvmlDeviceGetRunningProcessDetailList(device, &list));
        CHECK_EQ(list.numProcArrayEntries, 0);
        list.version = 1;
        CHECK_EQ(nvmlDeviceGetRunningProcessDetailList(device, &list),
                 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        neighbour_kill(first);
        neighbour_kill(second);
}

SIM_TEST(work_shows_as_load_heat_power_and_clocks)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 2);
        nvmlUtilization_t idle, busy;
        unsigned idle_mw, busy_mw, idle_c, busy_c, mhz;
        unsigned long long reasons;

        GOOD(nvmlDeviceGetUtilizationRates(device, &idle));
        GOOD(nvmlDeviceGetPowerUsage(device, &idle_mw));
        GOOD(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &idle_c));
        GOOD(nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons));
        CHECK_EQ(idle.gpu, 0);
        CHECK_EQ(reasons, NVML_CLOCKS_IDLE);
        pid_t other = neighbour(0, 10 * MIB, true);
        usleep(600000);
        GOOD(nvmlDeviceGetUtilizationRates(device, &busy));
        GOOD(nvmlDeviceGetPowerUsage(device, &busy_mw));
        GOOD(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &busy_c));
        GOOD(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &mhz));
        CHECK(busy.gpu >= 98);
        CHECK(busy_mw > 5 * idle_mw && busy_mw <= 400000);
        CHECK(busy_c > idle_c + 20);
        CHECK_EQ(mhz, 1410);
        GOOD(nvmlDeviceGetUtilizationRates(nvml_device(1), &idle));
        CHECK_EQ(idle.gpu, 0);
        neighbour_kill(other);
}

SIM_TEST(two_busy_processes_share_the_load_evenly)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlProcessUtilizationSample_t samples[4];
        nvmlProcessUtilizationInfo_v1_t details[4];
        nvmlProcessesUtilizationInfo_t info = {
                .version = NVML_VERSION_OF(nvmlProcessesUtilizationInfo_t, 1),
                .processSamplesCount = 4, .procUtilArray = details,
        };
        unsigned count = 4;

        CHECK_EQ(nvmlDeviceGetProcessUtilization(device, samples, &count, 0), NVML_ERROR_NOT_FOUND);
        pid_t first = neighbour(0, MIB, true), second = neighbour(0, MIB, true);
        usleep(1200000);
        count = 4;
        GOOD(nvmlDeviceGetProcessUtilization(device, samples, &count, 0));
        CHECK_EQ(count, 2);
        for (unsigned i = 0; i < 2; i++)
                CHECK(samples[i].smUtil >= 46 && samples[i].smUtil <= 54);
        GOOD(nvmlDeviceGetProcessesUtilizationInfo(device, &info));
        CHECK_EQ(info.processSamplesCount, 2);
        CHECK(details[0].smUtil >= 46 && details[0].smUtil <= 54);
        count = 1;
        CHECK_EQ(nvmlDeviceGetProcessUtilization(device, samples, &count, 0),
                 NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(count, 2);
        neighbour_kill(first);
        neighbour_kill(second);
}

SIM_TEST(samples_tell_the_last_second_and_only_what_is_new)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        pid_t other = neighbour(0, MIB, true);
        nvmlSample_t samples[128];
        nvmlValueType_t type;
        unsigned count = 128;

        usleep(500000);
        GOOD(nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, samples));
        CHECK(count >= 15 && count < 64);
        CHECK_EQ(type, NVML_VALUE_TYPE_UNSIGNED_INT);
        CHECK(samples[count - 1].sampleValue.uiVal >= 99);
        for (unsigned i = 1; i < count; i++)
                CHECK(samples[i].timeStamp > samples[i - 1].timeStamp);
        unsigned long long last = samples[count - 1].timeStamp;
        count = 128;
        usleep(100000);
        GOOD(nvmlDeviceGetSamples(device, NVML_TOTAL_POWER_SAMPLES, last, &type, &count, samples));
        CHECK(count >= 2 && count <= 20);
        neighbour_kill(other);
}

int main(void)
{
        return RUN(CASE(memory_is_total_used_free_and_reserved),
                   CASE(the_memory_of_another_process_is_seen_until_it_dies),
                   CASE(a_list_that_does_not_fit_says_how_long_it_is),
                   CASE(work_shows_as_load_heat_power_and_clocks),
                   CASE(two_busy_processes_share_the_load_evenly),
                   CASE(samples_tell_the_last_second_and_only_what_is_new));
}
