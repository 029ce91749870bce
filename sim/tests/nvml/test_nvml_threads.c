/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of NVML from many threads at once, as a monitor uses it. */
#include <pthread.h>

#include "event.h"
#include "nvml_fixture.h"

enum { THREADS = 4, ROUNDS = 200 };

static void *ask(void *argument)
{
        nvmlDevice_t device = argument;

        for (unsigned i = 0; i < ROUNDS; i++) {
                nvmlProcessInfo_t infos[4];
                nvmlUtilization_t rates;
                nvmlMemory_t memory;
                unsigned count = 4;

                GOOD(nvmlInit_v2());
                GOOD(nvmlDeviceGetMemoryInfo(device, &memory));
                GOOD(nvmlDeviceGetUtilizationRates(device, &rates));
                GOOD(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
                GOOD(nvmlShutdown());
        }
        return NULL;
}

static void *wait_for_all(void *argument)
{
        for (unsigned i = 0; i < ROUNDS; i++) {
                nvmlEventData_t data;
                GOOD(nvmlEventSetWait_v2(argument, &data, 5000));
                CHECK_EQ(data.eventData, i);
        }
        return NULL;
}

SIM_TEST(threads_ask_and_wait_at_once)
{
        nvmlDevice_t device = nvml_start("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        pthread_t askers[THREADS], waiter;
        nvmlEventSet_t set;

        GOOD(nvmlEventSetCreate(&set));
        GOOD(nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, set));
        CHECK_EQ(pthread_create(&waiter, NULL, wait_for_all, set), 0);
        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_create(&askers[i], NULL, ask, device), 0);
        for (unsigned i = 0; i < ROUNDS; i++) {
                event_post(machine, 0, NVML_EVENT_XID, i);
                /* The ring holds 64: let the waiter run. */
                if (i % 16 == 15)
                        usleep(20000);
        }
        for (unsigned i = 0; i < THREADS; i++)
                pthread_join(askers[i], NULL);
        pthread_join(waiter, NULL);
        GOOD(nvmlEventSetFree(set));
        GOOD(nvmlShutdown());
}

static void *make_and_free(void *argument)
{
        for (unsigned i = 0; i < ROUNDS; i++) {
                nvmlEventSet_t set;
                nvmlGpmSample_t sample;

                GOOD(nvmlEventSetCreate(&set));
                GOOD(nvmlDeviceRegisterEvents(argument, NVML_EVENT_XID, set));
                GOOD(nvmlGpmSampleAlloc(&sample));
                GOOD(nvmlGpmSampleFree(sample));
                GOOD(nvmlEventSetFree(set));
        }
        return NULL;
}

SIM_TEST(threads_make_and_free_sets_and_samples_at_once)
{
        nvmlDevice_t device = nvml_start("h100-80gb", 1);
        pthread_t makers[THREADS];

        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_create(&makers[i], NULL, make_and_free, device), 0);
        for (unsigned i = 0; i < THREADS; i++)
                pthread_join(makers[i], NULL);
}

int main(void)
{
        return RUN(CASE(threads_ask_and_wait_at_once),
                   CASE(threads_make_and_free_sets_and_samples_at_once));
}
