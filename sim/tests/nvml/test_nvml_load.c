/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of load as other processes cause it, in real time. */
#include "nvml_fixture.h"

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
                .processSamplesCount = 4,
                .procUtilArray = details,
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
        return RUN(CASE(work_shows_as_load_heat_power_and_clocks),
                   CASE(two_busy_processes_share_the_load_evenly),
                   CASE(samples_tell_the_last_second_and_only_what_is_new));
}
