/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of NVML's start and end, its versions and its refusals. */
#include "event.h"
#include "nvml_fixture.h"

SIM_TEST(nothing_works_before_init_and_after_the_last_shutdown)
{
        nvmlDevice_t device;
        unsigned count = 77;

        sim_machine("a100-40gb", 2);
        CHECK_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
        CHECK_EQ(count, 77);
        /* One shutdown too many is none. */
        GOOD(nvmlShutdown());
        GOOD(nvmlInit_v2());
        GOOD(nvmlInitWithFlags(0));
        GOOD(nvmlShutdown());
        GOOD(nvmlDeviceGetCount_v2(&count));
        CHECK_EQ(count, 2);
        GOOD(nvmlShutdown());
        CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_UNINITIALIZED);
        GOOD(nvmlShutdown());
        GOOD(nvmlInit());
        GOOD(nvmlShutdown());
}

SIM_TEST(without_a_machine_there_is_no_driver)
{
        CHECK_EQ(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
        unsetenv("VGPU_SIM");
        CHECK_EQ(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
        CHECK_EQ(nvmlInitWithFlags(64), NVML_ERROR_INVALID_ARGUMENT);
}

SIM_TEST(every_result_has_a_name)
{
        CHECK_STR(nvmlErrorString(NVML_SUCCESS), "Success");
        CHECK_STR(nvmlErrorString(NVML_ERROR_GPU_IS_LOST), "GPU is lost");
        CHECK_STR(nvmlErrorString(NVML_ERROR_ARGUMENT_VERSION_MISMATCH),
                  "Argument version mismatch");
        CHECK_STR(nvmlErrorString(NVML_ERROR_UNKNOWN), "Unknown Error");
        CHECK_STR(nvmlErrorString((nvmlReturn_t)-5), "Unknown Error");
        for (int i = 0; i <= NVML_ERROR_RESET_TYPE_NOT_SUPPORTED; i++)
                CHECK(strcmp(nvmlErrorString((nvmlReturn_t)i), "Unknown Error") != 0);
}

SIM_TEST(versions_are_the_machines)
{
        char text[80];
        int version = 0;

        sim_machine("t4-16gb", 1);
        CHECK_EQ(nvmlSystemGetCudaDriverVersion(&version), NVML_ERROR_UNINITIALIZED);
        GOOD(nvmlSystemGetNVMLVersion(text, sizeof text));
        GOOD(nvmlInit_v2());
        GOOD(nvmlSystemGetCudaDriverVersion(&version));
        CHECK_EQ(version, 13000);
        GOOD(nvmlSystemGetDriverVersion(text, sizeof text));
        CHECK(strlen(text) > 5);
        CHECK_EQ(nvmlSystemGetDriverVersion(text, 3), NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(nvmlSystemGetDriverVersion(NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
        GOOD(nvmlSystemGetNVMLVersion(text, sizeof text));
        CHECK(strncmp(text, "13.", 3) == 0);
}

SIM_TEST(a_wrong_handle_is_refused_and_never_followed)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlMemory_t memory;
        unsigned value;

        CHECK_EQ(nvmlDeviceGetMemoryInfo(NULL, &memory), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetMemoryInfo((nvmlDevice_t)0x1234, &memory),
                 NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetMemoryInfo((nvmlDevice_t)&memory, &memory),
                 NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetMemoryInfo(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
        /* An entry of the table where no GPU is. */
        CHECK_EQ(nvmlDeviceGetPowerUsage((nvmlDevice_t)((char *)device + 50), &value),
                 NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetPowerUsage((nvmlDevice_t)((char *)device + 1), &value),
                 NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlEventSetFree((nvmlEventSet_t)&value), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlGpuInstanceDestroy((nvmlGpuInstance_t)&value), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlComputeInstanceDestroy(NULL), NVML_ERROR_INVALID_ARGUMENT);
}

SIM_TEST(a_call_fails_as_often_as_was_asked_for)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        unsigned value;

        CHECK_EQ(fault_fail(sim_machine_open(), "nvmlDeviceGetPowerUsage", NVML_ERROR_TIMEOUT, 2),
                 0);
        CHECK_EQ(nvmlDeviceGetPowerUsage(device, &value), NVML_ERROR_TIMEOUT);
        GOOD(nvmlDeviceGetCount_v2(&value));
        CHECK_EQ(nvmlDeviceGetPowerUsage(device, &value), NVML_ERROR_TIMEOUT);
        GOOD(nvmlDeviceGetPowerUsage(device, &value));
}

SIM_TEST(a_lost_gpu_says_so_and_its_neighbour_goes_on)
{
        nvmlDevice_t first = nvml_start("a100-40gb", 2), second = nvml_device(1), again;
        struct machine *machine = sim_machine_open();
        nvmlMemory_t memory;
        unsigned value;

        gpu_lose(machine, 0);
        CHECK_EQ(nvmlDeviceGetMemoryInfo(first, &memory), NVML_ERROR_GPU_IS_LOST);
        CHECK_EQ(nvmlDeviceGetTemperature(first, NVML_TEMPERATURE_GPU, &value),
                 NVML_ERROR_GPU_IS_LOST);
        CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(0, &again), NVML_ERROR_GPU_IS_LOST);
        GOOD(nvmlDeviceGetMemoryInfo(second, &memory));
        GOOD(nvmlDeviceGetCount_v2(&value));
        CHECK_EQ(value, 2);
        gpu_restore(machine, 0);
        GOOD(nvmlDeviceGetMemoryInfo(first, &memory));
}

int main(void)
{
        return RUN(CASE(nothing_works_before_init_and_after_the_last_shutdown),
                   CASE(without_a_machine_there_is_no_driver), CASE(every_result_has_a_name),
                   CASE(versions_are_the_machines),
                   CASE(a_wrong_handle_is_refused_and_never_followed),
                   CASE(a_call_fails_as_often_as_was_asked_for),
                   CASE(a_lost_gpu_says_so_and_its_neighbour_goes_on));
}
