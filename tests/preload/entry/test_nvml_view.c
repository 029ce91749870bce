/* SPDX-License-Identifier: Apache-2.0 */
/* Through NVML a container sees its own share and its own processes: never a stranger's. */
#include "guest.h"
#include "nvml_fixture.h"

enum { CAPACITY = 16 };

/* A container of 100 MiB that holds 60, and a busy stranger with 200 on the same GPU. */
static nvmlDevice_t begin(pid_t *ret_stranger)
{
        CUdeviceptr address;

        guest_machine(1);
        setenv("VGPU_SIM_GRAPHICS", "1", 1);
        setenv("VGPU_SIM_MPS", "1", 1);
        setenv("VGPU_SIM_VIDEO", "1", 1);
        guest_start("100m");
        assert_int_equal(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        *ret_stranger = neighbour(0, 200 * MIB, true);
        GOOD(nvmlInit_v2());
        return nvml_device(0);
}

SIM_TEST(memory_is_the_share)
{
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);
        nvmlMemory_t old;
        nvmlMemory_v2_t new = { .version = NVML_VERSION_OF(nvmlMemory_v2_t, 2) };
        nvmlBAR1Memory_t window;

        GOOD(nvmlDeviceGetMemoryInfo(device, &old));
        CHECK_EQ(old.total, 100 * MIB);
        CHECK_EQ(old.used, 60 * MIB);
        CHECK_EQ(old.free, 40 * MIB);
        GOOD(nvmlDeviceGetMemoryInfo_v2(device, &new));
        CHECK_EQ(new.total, 100 * MIB);
        CHECK_EQ(new.used, 60 * MIB);
        CHECK_EQ(new.free, 40 * MIB);
        GOOD(nvmlDeviceGetBAR1MemoryInfo(device, &window));
        CHECK(window.bar1Total <= 100 * MIB);
        CHECK(window.bar1Used <= 60 * MIB);
        neighbour_kill(stranger);
}

/* A region that is none cannot be opened: no GPU, by either library. */
SIM_TEST(a_region_that_cannot_be_opened_shows_no_gpu)
{
        unsigned count;

        guest_machine(1);
        FILE *file = fopen(getenv("VGPU_REGION"), "w");
        CHECK(file && fputs("no region", file) >= 0);
        fclose(file);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        CHECK_EQ(nvmlInit_v2(), NVML_ERROR_NO_PERMISSION);
        CHECK_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
        CHECK_EQ(cuInit(0), CUDA_ERROR_NOT_PERMITTED);
}

/* One entry, and it is ours; asked without a buffer, the number is one too. */
#define CHECK_LIST(type, call)                                                      \
        do {                                                                        \
                type list[CAPACITY];                                                \
                unsigned count = CAPACITY;                                          \
                GOOD(call(device, &count, list));                                   \
                CHECK_EQ(count, 1);                                                 \
                CHECK_EQ(list[0].pid, getpid());                                    \
                count = 0;                                                          \
                CHECK_EQ(call(device, &count, NULL), NVML_ERROR_INSUFFICIENT_SIZE); \
                CHECK_EQ(count, 1);                                                 \
        } while (0)

SIM_TEST(lists_hold_own_processes)
{
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);

        CHECK_LIST(nvmlProcessInfo_v1_t, nvmlDeviceGetComputeRunningProcesses);
        CHECK_LIST(nvmlProcessInfo_v2_t, nvmlDeviceGetComputeRunningProcesses_v2);
        CHECK_LIST(nvmlProcessInfo_t, nvmlDeviceGetComputeRunningProcesses_v3);
        CHECK_LIST(nvmlProcessInfo_v1_t, nvmlDeviceGetGraphicsRunningProcesses);
        CHECK_LIST(nvmlProcessInfo_v2_t, nvmlDeviceGetGraphicsRunningProcesses_v2);
        CHECK_LIST(nvmlProcessInfo_t, nvmlDeviceGetGraphicsRunningProcesses_v3);
        CHECK_LIST(nvmlProcessInfo_v1_t, nvmlDeviceGetMPSComputeRunningProcesses);
        CHECK_LIST(nvmlProcessInfo_v2_t, nvmlDeviceGetMPSComputeRunningProcesses_v2);
        CHECK_LIST(nvmlProcessInfo_t, nvmlDeviceGetMPSComputeRunningProcesses_v3);
        neighbour_kill(stranger);
}

SIM_TEST(the_list_with_details_holds_own_processes)
{
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);
        nvmlProcessDetail_v1_t details[CAPACITY];
        nvmlProcessDetailList_t list = { .version = NVML_VERSION_OF(nvmlProcessDetailList_t, 1),
                                         .mode = NVML_PROCESS_MODE_COMPUTE,
                                         .numProcArrayEntries = CAPACITY,
                                         .procArray = details };

        GOOD(nvmlDeviceGetRunningProcessDetailList(device, &list));
        CHECK_EQ(list.numProcArrayEntries, 1);
        CHECK_EQ(details[0].pid, getpid());
        /* Nor is it told how many others there are. */
        list.numProcArrayEntries = 0;
        CHECK_EQ(nvmlDeviceGetRunningProcessDetailList(device, &list),
                 NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(list.numProcArrayEntries, 1);
        neighbour_kill(stranger);
}

/* nvidia-smi's way: entries of 4128 bytes that begin with the pid, by slot 213 of a private table. */
SIM_TEST(the_private_list_holds_own_processes)
{
        static const unsigned char id[16] = { 0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                              0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4 };
        typedef nvmlReturn_t list_fn(nvmlDevice_t device, unsigned *count, void *entries);
        static char entries[CAPACITY][4128];
        const void *table = NULL;
        unsigned count = CAPACITY, pid;
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);

        GOOD(nvmlInternalGetExportTable(&table, id));
        list_fn *list = (list_fn *)((void *const *)table)[213];
        GOOD(list(device, &count, entries));
        CHECK_EQ(count, 1);
        memcpy(&pid, entries[0], sizeof pid);
        CHECK_EQ(pid, getpid());
        neighbour_kill(stranger);
}

SIM_TEST(names_are_told_of_own_processes)
{
        char name[256] = "";
        pid_t stranger;

        begin(&stranger);
        GOOD(nvmlSystemGetProcessName((unsigned)getpid(), name, sizeof name));
        CHECK(strstr(name, "test_preload_nvml_view") != NULL);
        CHECK_EQ(nvmlSystemGetProcessName((unsigned)stranger, name, sizeof name),
                 NVML_ERROR_NOT_FOUND);
        neighbour_kill(stranger);
}

SIM_TEST(accounting_knows_own_processes)
{
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);
        nvmlAccountingStats_t stats;
        unsigned pids[CAPACITY], count = CAPACITY;

        GOOD(nvmlDeviceSetAccountingMode(device, NVML_FEATURE_ENABLED));
        GOOD(nvmlDeviceGetAccountingPids(device, &count, pids));
        CHECK_EQ(count, 1);
        CHECK_EQ(pids[0], getpid());
        count = 0;
        CHECK_EQ(nvmlDeviceGetAccountingPids(device, &count, NULL), NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_EQ(count, 1);
        GOOD(nvmlDeviceGetAccountingStats(device, (unsigned)getpid(), &stats));
        CHECK_EQ(nvmlDeviceGetAccountingStats(device, (unsigned)stranger, &stats),
                 NVML_ERROR_NOT_FOUND);
        neighbour_kill(stranger);
}

/* The GPU is busy with the stranger's work: the container's load is none. */
SIM_TEST(load_is_the_containers_own)
{
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);
        nvmlProcessUtilizationSample_t used[CAPACITY];
        nvmlProcessUtilizationInfo_v1_t details[CAPACITY];
        nvmlProcessesUtilizationInfo_t info = { .version = NVML_VERSION_OF(
                                                        nvmlProcessesUtilizationInfo_t, 1),
                                                .processSamplesCount = CAPACITY,
                                                .procUtilArray = details };
        nvmlGpuDynamicPstatesInfo_t states;
        nvmlSample_t samples[128];
        nvmlUtilization_t load;
        nvmlValueType_t type;
        unsigned count = CAPACITY;

        usleep(600000);
        GOOD(nvmlDeviceGetUtilizationRates(device, &load));
        CHECK_EQ(load.gpu, 0);
        CHECK_EQ(load.memory, 0);
        CHECK_EQ(nvmlDeviceGetProcessUtilization(device, used, &count, 0), NVML_ERROR_NOT_FOUND);
        GOOD(nvmlDeviceGetProcessesUtilizationInfo(device, &info));
        CHECK_EQ(info.processSamplesCount, 0);
        info.processSamplesCount = 0;
        info.procUtilArray = NULL;
        GOOD(nvmlDeviceGetProcessesUtilizationInfo(device, &info));
        CHECK_EQ(info.processSamplesCount, 0);
        GOOD(nvmlDeviceGetDynamicPstatesInfo(device, &states));
        for (unsigned i = 0; i < 8; i++)
                CHECK_EQ(states.utilization[i].percentage, 0);
        count = 128;
        GOOD(nvmlDeviceGetSamples(device, (nvmlSamplingType_t)1, 0, &type, &count, samples));
        CHECK(count > 0);
        for (unsigned i = 0; i < count; i++)
                CHECK_EQ(samples[i].sampleValue.uiVal, 0);
        neighbour_kill(stranger);
}

/* They work for the stranger, who is busy, and not for us. */
SIM_TEST(video_engines_show_the_containers_own_load)
{
        static const nvmlSamplingType_t types[] = { NVML_ENC_UTILIZATION_SAMPLES,
                                                    NVML_DEC_UTILIZATION_SAMPLES,
                                                    NVML_JPG_UTILIZATION_SAMPLES,
                                                    NVML_OFA_UTILIZATION_SAMPLES };
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);
        nvmlSample_t samples[128];
        nvmlValueType_t type;
        unsigned percent, period;

        usleep(600000);
        GOOD(nvmlDeviceGetEncoderUtilization(device, &percent, &period));
        CHECK_EQ(percent, 0);
        CHECK(period > 0);
        GOOD(nvmlDeviceGetDecoderUtilization(device, &percent, &period));
        CHECK_EQ(percent, 0);
        GOOD(nvmlDeviceGetJpgUtilization(device, &percent, &period));
        CHECK_EQ(percent, 0);
        GOOD(nvmlDeviceGetOfaUtilization(device, &percent, &period));
        CHECK_EQ(percent, 0);
        for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
                unsigned count = 128;

                GOOD(nvmlDeviceGetSamples(device, types[i], 0, &type, &count, samples));
                for (unsigned j = 0; j < count; j++)
                        CHECK_EQ(samples[j].sampleValue.uiVal, 0);
        }
        neighbour_kill(stranger);
}

/* Without a stranger: what the engines do, they do for us. */
SIM_TEST(video_engines_that_work_for_the_container_are_shown)
{
        unsigned percent = 0, period;
        CUdeviceptr address;

        guest_machine(1);
        machine_gpu(sim_machine_open(), 0)->memory_bytes_per_s = MIB;
        setenv("VGPU_SIM_VIDEO", "1", 1);
        guest_start("100m");
        GOOD(nvmlInit_v2());
        CHECK_EQ(cuMemAlloc_v2(&address, 8 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemsetD8_v2(address, 0, 8 * MIB), CUDA_SUCCESS); /* takes seconds */
        usleep(600000);
        GOOD(nvmlDeviceGetEncoderUtilization(nvml_device(0), &percent, &period));
        CHECK(percent > 0);
        GOOD(nvmlDeviceGetOfaUtilization(nvml_device(0), &percent, &period));
        CHECK(percent > 0);
}

/* One session, and it is ours; the figures are its own. */
#define CHECK_SESSIONS(type, fps, call)                                             \
        do {                                                                        \
                type list[CAPACITY];                                                \
                unsigned count = CAPACITY;                                          \
                GOOD(call(device, &count, list));                                   \
                CHECK_EQ(count, 1);                                                 \
                CHECK_EQ(list[0].pid, getpid());                                    \
                CHECK_EQ(list[0].fps, 30);                                          \
                count = 0;                                                          \
                GOOD(call(device, &count, NULL));                                   \
                CHECK_EQ(count, 1);                                                 \
                count = 0;                                                          \
                CHECK_EQ(call(device, &count, list), NVML_ERROR_INSUFFICIENT_SIZE); \
                CHECK_EQ(count, 1);                                                 \
        } while (0)

SIM_TEST(sessions_of_encoders_and_capture_are_the_containers_own)
{
        pid_t stranger;
        nvmlDevice_t device = begin(&stranger);
        unsigned number = 0, fps = 0, latency = 0;
        nvmlFBCStats_t stats;

        CHECK_SESSIONS(nvmlEncoderSessionInfo_t, averageFps, nvmlDeviceGetEncoderSessions);
        CHECK_SESSIONS(nvmlFBCSessionInfo_t, averageFPS, nvmlDeviceGetFBCSessions);
        GOOD(nvmlDeviceGetEncoderStats(device, &number, &fps, &latency));
        CHECK_EQ(number, 1);
        CHECK_EQ(fps, 30);
        CHECK(latency > 0);
        GOOD(nvmlDeviceGetFBCStats(device, &stats));
        CHECK_EQ(stats.sessionsCount, 1);
        CHECK_EQ(stats.averageFPS, 30);
        CHECK(stats.averageLatency > 0);
        neighbour_kill(stranger);
}

int main(void)
{
        return RUN(CASE(memory_is_the_share), CASE(a_region_that_cannot_be_opened_shows_no_gpu),
                   CASE(lists_hold_own_processes), CASE(the_list_with_details_holds_own_processes),
                   CASE(the_private_list_holds_own_processes),
                   CASE(names_are_told_of_own_processes), CASE(accounting_knows_own_processes),
                   CASE(load_is_the_containers_own),
                   CASE(video_engines_show_the_containers_own_load),
                   CASE(video_engines_that_work_for_the_container_are_shown),
                   CASE(sessions_of_encoders_and_capture_are_the_containers_own));
}
