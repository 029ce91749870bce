/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of numbered readings, performance counters and the private table. */
#include "mig.h"
#include "nvml_fixture.h"

static nvmlFieldValue_t field(nvmlDevice_t device, unsigned id, unsigned scope)
{
        nvmlFieldValue_t value = { .fieldId = id, .scopeId = scope };

        GOOD(nvmlDeviceGetFieldValues(device, 1, &value));
        return value;
}

static uint64_t number(nvmlDevice_t device, unsigned id, unsigned scope)
{
        nvmlFieldValue_t value = field(device, id, scope);

        CHECK_EQ(value.nvmlReturn, NVML_SUCCESS);
        CHECK(value.timestamp > 0);
        return value.value.ullVal;
}

SIM_TEST(fields_agree_with_the_functions)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 2);
        unsigned power_mw, limit_mw;

        GOOD(nvmlDeviceGetPowerUsage(device, &power_mw));
        GOOD(nvmlDeviceGetPowerManagementLimit(device, &limit_mw));
        CHECK_EQ(number(device, 186, 0), power_mw);
        CHECK_EQ(number(device, 190, 0), limit_mw);
        CHECK_EQ(number(device, 91, 0), 12);
        CHECK_EQ(number(device, 90, 0), 25781);
        CHECK_EQ(number(device, 84, 0), 25781);
        CHECK_EQ(number(device, 137, 0), 25781);
        CHECK_EQ(number(device, 164, 11), 25781);
        CHECK_EQ(number(device, 165, 0), 1);
        CHECK_EQ(number(device, 147, 0), 12);
        CHECK_EQ(number(device, 1, 0), 1);
        CHECK_EQ(number(device, 142, 0), 0);
        CHECK(number(device, 82, 0) > 20);
}

SIM_TEST(a_field_that_the_gpu_lacks_says_so_for_itself)
{
        nvmlDevice_t device = nvml_start("gtx-1050ti", 1);
        nvmlFieldValue_t values[3] = { { .fieldId = 91 }, { .fieldId = 186 }, { .fieldId = 9999 } };

        GOOD(nvmlDeviceGetFieldValues(device, 3, values));
        CHECK_EQ(values[0].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(values[1].nvmlReturn, NVML_SUCCESS);
        CHECK_EQ(values[2].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
        CHECK_EQ(nvmlDeviceGetFieldValues(device, 0, values), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlDeviceGetFieldValues(device, 1, NULL), NVML_ERROR_INVALID_ARGUMENT);
}

SIM_TEST(every_field_of_every_gpu_can_be_asked_for)
{
        static const char *const presets[] = { "a100-40gb", "h100-80gb", "t4-16gb", "gtx-1050ti" };

        for (size_t p = 0; p < sizeof presets / sizeof presets[0]; p++) {
                unlink(getenv("VGPU_SIM"));
                nvmlDevice_t device = nvml_start(presets[p], 2);
                for (unsigned id = 0; id < 400; id++)
                        for (unsigned scope = 0; scope < 20; scope++)
                                CHECK(field(device, id, scope).nvmlReturn != NVML_ERROR_UNKNOWN);
                CHECK(field(device, 138, UINT32_MAX).nvmlReturn != NVML_ERROR_UNKNOWN);
                GOOD(nvmlShutdown());
        }
}

/* Two samples around a while of full load. */
SIM_TEST(counters_between_two_samples_show_the_load)
{
        nvmlDevice_t device = nvml_start("h100-80gb", 1);
        nvmlGpmSupport_t support = { .version = 1 };
        nvmlGpmMetricsGet_t *get = calloc(1, sizeof *get + 3 * sizeof get->metrics[0]);
        pid_t other = neighbour(0, MIB, true);

        GOOD(nvmlGpmQueryDeviceSupport(device, &support));
        CHECK_EQ(support.isSupportedDevice, 1);
        GOOD(nvmlGpmSampleAlloc(&get->sample1));
        GOOD(nvmlGpmSampleAlloc(&get->sample2));
        GOOD(nvmlGpmSampleGet(device, get->sample1));
        usleep(100000);
        GOOD(nvmlGpmSampleGet(device, get->sample2));
        get->version = 1;
        get->numMetrics = 2;
        get->metrics[0].metricId = 2;
        get->metrics[1].metricId = 9999;
        get->metrics[2].value = 42;
        GOOD(nvmlGpmMetricsGet(get));
        CHECK_EQ(get->metrics[0].nvmlReturn, NVML_SUCCESS);
        CHECK(get->metrics[0].value > 95 && get->metrics[0].value <= 100);
        CHECK_EQ(get->metrics[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
        CHECK(get->metrics[2].value == 42);
        GOOD(nvmlGpmSampleFree(get->sample1));
        CHECK_EQ(nvmlGpmMetricsGet(get), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlGpmSampleFree(get->sample1), NVML_ERROR_INVALID_ARGUMENT);
        GOOD(nvmlGpmSampleFree(get->sample2));
        free(get);
        neighbour_kill(other);
}

SIM_TEST(counters_need_a_hopper)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlGpmSample_t sample;

        GOOD(nvmlGpmSampleAlloc(&sample));
        CHECK_EQ(nvmlGpmSampleGet(device, sample), NVML_ERROR_NOT_SUPPORTED);
        GOOD(nvmlGpmSampleFree(sample));
}

struct private_process {
        uint32_t pid;
        uint64_t bytes;
        uint32_t gpu_instance, compute_instance;
        uint64_t protected_bytes;
        char name[4096];
};

typedef nvmlReturn_t processes_fn(nvmlDevice_t, unsigned *, struct private_process *);
typedef nvmlReturn_t handle_fn(unsigned, nvmlDevice_t *, unsigned);

typedef nvmlReturn_t reset_fn(unsigned, nvmlDevice_t *, nvmlReturn_t *, unsigned *);

/* As nvidia-smi takes it: a table whose first word is its size. */
static void *const *private_table(void)
{
        static const unsigned char id[16] = { 0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                              0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4 };
        const void *table = NULL;

        GOOD(nvmlInternalGetExportTable(&table, id));
        CHECK_EQ(*(const uint64_t *)table, 1960);
        return table;
}

SIM_TEST(a_reset_makes_pending_modes_effective_when_nobody_is_there)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        reset_fn *reset = (reset_fn *)private_table()[168];
        pid_t other = neighbour(0, MIB, false);
        nvmlEnableState_t current, pending;
        nvmlReturn_t result, activation;
        unsigned switches, mode, wish;

        GOOD(nvmlDeviceSetEccMode(device, NVML_FEATURE_DISABLED));
        GOOD(nvmlDeviceSetMigMode(device, 1, &activation));
        CHECK_EQ(reset(1, &device, &result, &switches), NVML_ERROR_IN_USE);
        CHECK_EQ(result, NVML_ERROR_IN_USE);
        GOOD(nvmlDeviceGetEccMode(device, &current, &pending));
        CHECK_EQ(current, NVML_FEATURE_ENABLED);
        neighbour_kill(other);
        GOOD(reset(1, &device, &result, &switches));
        GOOD(result);
        GOOD(nvmlDeviceGetEccMode(device, &current, &pending));
        CHECK_EQ(current, NVML_FEATURE_DISABLED);
        GOOD(nvmlDeviceGetMigMode(device, &mode, &wish));
        CHECK_EQ(mode, 1);
}

SIM_TEST(the_private_table_lists_processes_with_their_names)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1), same;
        struct private_process processes[2];
        unsigned char wrong[16] = { 0 };
        const void *table;
        unsigned count = 2;

        CHECK_EQ(nvmlInternalGetExportTable(&table, wrong), NVML_ERROR_NOT_FOUND);
        void *const *slots = private_table();
        GOOD(((handle_fn *)slots[81])(0, &same, 0x22));
        CHECK(same == device);
        pid_t other = neighbour(0, 10 * MIB, false);
        GOOD(((processes_fn *)slots[213])(device, &count, processes));
        CHECK_EQ(count, 1);
        CHECK_EQ(processes[0].pid, other);
        CHECK_EQ(processes[0].bytes, 14 * MIB);
        CHECK_EQ(processes[0].gpu_instance, UINT32_MAX);
        CHECK(strstr(processes[0].name, "test_sim_nvml_field") != NULL);
        count = 2;
        GOOD(((processes_fn *)slots[215])(device, &count, processes));
        CHECK_EQ(count, 0);
        neighbour_kill(other);
}

int main(void)
{
        return RUN(CASE(fields_agree_with_the_functions),
                   CASE(a_field_that_the_gpu_lacks_says_so_for_itself),
                   CASE(every_field_of_every_gpu_can_be_asked_for),
                   CASE(counters_between_two_samples_show_the_load), CASE(counters_need_a_hopper),
                   CASE(a_reset_makes_pending_modes_effective_when_nobody_is_there),
                   CASE(the_private_table_lists_processes_with_their_names));
}
