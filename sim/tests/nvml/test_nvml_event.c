/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of event sets: what another process injects arrives, once, at the right device. */
#include "clock.h"
#include "event.h"
#include "nvml_fixture.h"

static int inject_xid(void)
{
        usleep(100000);
        event_post(sim_machine_open(), 1, NVML_EVENT_XID, 48);
        return 0;
}

SIM_TEST(an_xid_from_another_process_wakes_who_waits)
{
        nvmlDevice_t first = nvml_start("a100-40gb", 2), second = nvml_device(1);
        nvmlEventData_t data;
        nvmlEventSet_t set;

        GOOD(nvmlEventSetCreate(&set));
        GOOD(nvmlDeviceRegisterEvents(first, NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT_ECC, set));
        GOOD(nvmlDeviceRegisterEvents(second, NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT_ECC, set));
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
                _exit(inject_xid());
        uint64_t start = clock_now_ns();
        GOOD(nvmlEventSetWait_v2(set, &data, 5000));
        CHECK(clock_now_ns() - start < 2 * NS_PER_S);
        CHECK(data.device == second);
        CHECK_EQ(data.eventType, NVML_EVENT_XID);
        CHECK_EQ(data.eventData, 48);
        CHECK_EQ(data.gpuInstanceId, NVML_ID_NONE);
        CHECK_EQ(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_TIMEOUT);
        GOOD(nvmlEventSetFree(set));
        waitpid(child, NULL, 0);
}

SIM_TEST(a_set_hears_only_what_it_asked_for_and_only_from_then_on)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 2);
        struct machine *machine = sim_machine_open();
        nvmlEventData_t data;
        nvmlEventSet_t set;

        event_post(machine, 0, NVML_EVENT_XID, 1);
        GOOD(nvmlEventSetCreate(&set));
        GOOD(nvmlDeviceRegisterEvents(device, NVML_EVENT_DOUBLE_BIT_ECC, set));
        event_post(machine, 0, NVML_EVENT_XID, 2);
        event_post(machine, 1, NVML_EVENT_DOUBLE_BIT_ECC, 0);
        CHECK_EQ(nvmlEventSetWait_v2(set, &data, 20), NVML_ERROR_TIMEOUT);
        event_post(machine, 0, NVML_EVENT_DOUBLE_BIT_ECC, 0);
        GOOD(nvmlEventSetWait_v2(set, &data, 20));
        CHECK_EQ(data.eventType, NVML_EVENT_DOUBLE_BIT_ECC);
        CHECK(data.device == device);
        GOOD(nvmlEventSetFree(set));
        CHECK_EQ(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_INVALID_ARGUMENT);
        CHECK_EQ(nvmlEventSetFree(set), NVML_ERROR_INVALID_ARGUMENT);
}

SIM_TEST(each_set_hears_every_event_in_order)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        nvmlEventSet_t sets[2];
        nvmlEventData_t data;

        for (unsigned i = 0; i < 2; i++) {
                GOOD(nvmlEventSetCreate(&sets[i]));
                GOOD(nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, sets[i]));
        }
        for (unsigned i = 0; i < 5; i++)
                event_post(machine, 0, NVML_EVENT_XID, 60 + i);
        for (unsigned set = 0; set < 2; set++)
                for (unsigned i = 0; i < 5; i++) {
                        GOOD(nvmlEventSetWait_v2(sets[set], &data, 100));
                        CHECK_EQ(data.eventData, 60 + i);
                }
}

SIM_TEST(a_gpu_that_falls_off_is_an_xid_and_then_an_error)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        nvmlEventData_t data;
        nvmlEventSet_t set;

        GOOD(nvmlEventSetCreate(&set));
        GOOD(nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, set));
        gpu_lose(sim_machine_open(), 0);
        GOOD(nvmlEventSetWait_v2(set, &data, 100));
        CHECK_EQ(data.eventData, 79);
        CHECK_EQ(nvmlEventSetWait_v2(set, &data, 60000), NVML_ERROR_GPU_IS_LOST);
}

SIM_TEST(a_gpu_without_ecc_has_no_such_events)
{
        nvmlDevice_t device = nvml_start("gtx-1050ti", 1);
        unsigned long long types;
        nvmlEventSet_t set;

        GOOD(nvmlEventSetCreate(&set));
        GOOD(nvmlDeviceGetSupportedEventTypes(device, &types));
        CHECK(types & NVML_EVENT_XID);
        CHECK(!(types & NVML_EVENT_DOUBLE_BIT_ECC));
        CHECK_EQ(nvmlDeviceRegisterEvents(device, NVML_EVENT_DOUBLE_BIT_ECC, set),
                 NVML_ERROR_NOT_SUPPORTED);
        GOOD(nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, set));
}

SIM_TEST(ecc_errors_are_counted_where_each_function_reads_them)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        nvmlFieldValue_t fields[2] = { { .fieldId = 4 }, { .fieldId = 3 } };
        nvmlEccErrorCounts_t counts;
        unsigned long long count;

        atomic_fetch_add(&machine_gpu(machine, 0)->ecc_uncorrected, 3);
        atomic_fetch_add(&machine_gpu(machine, 0)->ecc_corrected, 5);
        GOOD(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                         NVML_VOLATILE_ECC, &count));
        CHECK_EQ(count, 3);
        GOOD(nvmlDeviceGetMemoryErrorCounter(device, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                             NVML_AGGREGATE_ECC, NVML_MEMORY_LOCATION_DEVICE_MEMORY,
                                             &count));
        CHECK_EQ(count, 5);
        GOOD(nvmlDeviceGetDetailedEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                            NVML_VOLATILE_ECC, &counts));
        CHECK_EQ(counts.deviceMemory, 3);
        GOOD(nvmlDeviceGetFieldValues(device, 2, fields));
        CHECK_EQ(fields[0].nvmlReturn, NVML_SUCCESS);
        CHECK_EQ(fields[0].value.ullVal, 3);
        CHECK_EQ(fields[1].value.ullVal, 5);
        GOOD(nvmlDeviceClearEccErrorCounts(device, NVML_VOLATILE_ECC));
        GOOD(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                         NVML_VOLATILE_ECC, &count));
        CHECK_EQ(count, 0);
}

int main(void)
{
        return RUN(CASE(an_xid_from_another_process_wakes_who_waits),
                   CASE(a_set_hears_only_what_it_asked_for_and_only_from_then_on),
                   CASE(each_set_hears_every_event_in_order),
                   CASE(a_gpu_that_falls_off_is_an_xid_and_then_an_error),
                   CASE(a_gpu_without_ecc_has_no_such_events),
                   CASE(ecc_errors_are_counted_where_each_function_reads_them));
}
