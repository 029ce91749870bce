/* SPDX-License-Identifier: Apache-2.0 */
/* What the region says a container used is what the machine says it worked: at every wait, in every
 * context, and when a limit changes under way. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"
#include "nvml_prototypes.h"
#include "share.h"
#include "timeline.h"
#include "worker.h"

#define MS UINT64_C(1000000)

static void launch(struct worker *w, unsigned gpu, CUstream stream, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                CHECK_EQ(cuLaunchKernel(w->kernels[gpu][KERNEL_100US], 1, 1, 1, 32, 1, 1, 0, stream,
                                        NULL, NULL),
                         CUDA_SUCCESS);
}

/* A container with a high limit whose kernels are known. */
static void begin(struct worker *w)
{
        worker_machine("90");
        worker_start(w);
        for (unsigned i = 0; i < 3; i++) {
                launch(w, 0, w->stream, 6);
                CHECK_EQ(cuStreamSynchronize(w->stream), CUDA_SUCCESS);
        }
}

static void check_counted(unsigned gpu)
{
        uint64_t counted = worker_counted_ns(gpu), busy = worker_time(gpu).busy_ns;
        uint64_t apart = counted > busy ? counted - busy : busy - counted;

        if (apart > busy / 20 + MS / 10)
                fail_msg("%llu us counted on GPU %u, %llu us worked",
                         (unsigned long long)counted / 1000, gpu, (unsigned long long)busy / 1000);
}

/* A few launches that would fit in what was asked for in advance, then a wait. */
static void check_wait(void (*wait)(struct worker *w))
{
        struct worker w;

        begin(&w);
        for (unsigned i = 0; i < 8; i++) {
                launch(&w, 0, w.stream, 3);
                wait(&w);
                check_counted(0);
        }
}

static void wait_stream(struct worker *w)
{
        CHECK_EQ(cuStreamSynchronize(w->stream), CUDA_SUCCESS);
}

static void wait_context(struct worker *w)
{
        (void)w;
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void wait_context_by_name(struct worker *w)
{
        CHECK_EQ(cuCtxSynchronize_v2(w->contexts[0]), CUDA_SUCCESS);
}

static void wait_event(struct worker *w)
{
        static CUevent event;

        if (!event)
                CHECK_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
        CHECK_EQ(cuEventRecord(event, w->stream), CUDA_SUCCESS);
        CHECK_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
}

SIM_TEST(counted_when_a_stream_was_waited_for)
{
        check_wait(wait_stream);
}

SIM_TEST(counted_when_a_context_was_waited_for)
{
        check_wait(wait_context);
}

SIM_TEST(counted_when_a_context_was_waited_for_by_name)
{
        check_wait(wait_context_by_name);
}

SIM_TEST(counted_when_an_event_was_waited_for)
{
        check_wait(wait_event);
}

static void check_stream_end(CUresult (*destroy)(CUstream stream))
{
        CUstream streams[4];
        struct worker w;

        begin(&w);
        for (unsigned round = 0; round < 12; round++) {
                for (unsigned i = 0; i < 4; i++)
                        CHECK_EQ(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
                for (unsigned i = 0; i < 4; i++)
                        launch(&w, 0, streams[i], 1);
                for (unsigned i = 0; i < 4; i++)
                        CHECK_EQ(destroy(streams[i]), CUDA_SUCCESS);
                usleep(1000); /* nobody waits for what is left in a stream that has ended */
                CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        }
        check_counted(0);
}

SIM_TEST(counted_when_its_stream_has_ended)
{
        check_stream_end(cuStreamDestroy_v2);
}

SIM_TEST(counted_when_its_stream_has_ended_the_old_way)
{
        check_stream_end(cuStreamDestroy);
}

enum way { BY_SET, BY_PUSH, BY_PUSH_V2 };

static void switch_to(enum way way, CUcontext context)
{
        if (way == BY_SET)
                CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
        else if (way == BY_PUSH)
                CHECK_EQ(cuCtxPushCurrent(context), CUDA_SUCCESS);
        else
                CHECK_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
}

static void switch_back(enum way way, CUcontext context)
{
        CUcontext popped;

        if (way == BY_SET)
                CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
        else if (way == BY_PUSH)
                CHECK_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
        else
                CHECK_EQ(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
}

/* The null stream is the current context's: work there is counted on the GPU it ran on. */
static void check_contexts(enum way way)
{
        struct worker w;

        begin(&w);
        for (unsigned i = 0; i < 30; i++) {
                launch(&w, 0, NULL, 2);
                switch_to(way, w.contexts[1]);
                launch(&w, 1, NULL, 2);
                switch_back(way, w.contexts[0]);
        }
        for (unsigned gpu = 0; gpu < WORKER_GPUS; gpu++) {
                CHECK_EQ(cuCtxSetCurrent(w.contexts[gpu]), CUDA_SUCCESS);
                CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
                check_counted(gpu);
        }
}

SIM_TEST(counted_where_it_ran_when_contexts_are_set)
{
        check_contexts(BY_SET);
}

SIM_TEST(counted_where_it_ran_when_contexts_are_pushed_and_popped)
{
        check_contexts(BY_PUSH_V2);
}

SIM_TEST(counted_where_it_ran_when_contexts_are_pushed_and_popped_the_old_way)
{
        check_contexts(BY_PUSH);
}

/* Pauses of the program are not the GPU's work. */
SIM_TEST(a_program_that_pauses_is_not_charged_for_its_pauses)
{
        struct worker w;

        begin(&w);
        for (unsigned i = 0; i < 30; i++) {
                launch(&w, 0, w.stream, 1);
                usleep(3000);
        }
        CHECK_EQ(cuStreamSynchronize(w.stream), CUDA_SUCCESS);
        check_counted(0);
}

SIM_TEST(a_context_that_ends_with_work_in_it_takes_nothing_along)
{
        struct worker w;
        CUcontext context;

        begin(&w);
        for (unsigned i = 0; i < 10; i++) {
                CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
                launch(&w, 0, NULL, 3);
                CHECK_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
        }
        CHECK_EQ(cuCtxSetCurrent(w.contexts[0]), CUDA_SUCCESS);
        launch(&w, 0, w.stream, 50);
        CHECK_EQ(cuStreamSynchronize(w.stream), CUDA_SUCCESS);
}

SIM_TEST(nvml_shows_the_container_s_own_load)
{
        struct worker w;
        nvmlUtilization_t load = { 0 };
        nvmlDevice_t device;

        worker_machine("50");
        worker_start(&w);
        CHECK_EQ(nvmlInit_v2(), NVML_SUCCESS);
        CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
        struct worker_time begin_time = worker_time(0);
        while (worker_time(0).clock_ns - begin_time.clock_ns < 1100 * MS)
                launch(&w, 0, w.stream, 10);
        const double real = worker_load(0, begin_time).percent;
        CHECK_EQ(nvmlDeviceGetUtilizationRates(device, &load), NVML_SUCCESS);
        if (load.gpu + 6 < real || load.gpu > real + 6)
                fail_msg("NVML says %u, the machine %.1f", load.gpu, real);
}

/* Another container keeps the GPU busy for as long as this one lives; made before CUDA is started. */
static void neighbour_start(const char *region)
{
        struct worker w;

        fflush(NULL);
        if (fork())
                return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("VGPU_REGION", region, 1);
        worker_start(&w);
        for (;;) {
                launch(&w, 0, w.stream, 100);
                cuStreamSynchronize(w.stream);
        }
}

/* What the machine says that it ran for this process in the last second. */
static double own_percent(void)
{
        struct machine *machine = sim_machine_open();

        for (unsigned i = 0; i < machine->file->header.slots_high; i++) {
                const struct machine_slot *slot = &machine->file->slots[i];

                if (slot->pid == getpid() && slot->units[0].channel)
                        return 100 * timeline_channel_load(machine, slot->units[0].channel - 1,
                                                           1000 * MS);
        }
        return -1;
}

SIM_TEST(nvml_does_not_show_what_the_gpu_did_for_a_neighbour_meanwhile)
{
        struct worker w;
        nvmlUtilization_t load = { 0 };
        nvmlDevice_t device;
        char region[128];

        worker_machine("70");
        snprintf(region, sizeof region, "%s-neighbour", getenv("VGPU_SIM"));
        neighbour_start(region);
        worker_start(&w);
        CHECK_EQ(nvmlInit_v2(), NVML_SUCCESS);
        CHECK_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
        struct worker_time begin_time = worker_time(0);
        while (worker_time(0).clock_ns - begin_time.clock_ns < 2500 * MS)
                launch(&w, 0, w.stream, 10);
        unlink(region);
        const double before = own_percent();
        CHECK_EQ(nvmlDeviceGetUtilizationRates(device, &load), NVML_SUCCESS);
        const double after = own_percent();
        const double low = before < after ? before : after, high = before < after ? after : before;
        if (load.gpu + 2.5 < low || load.gpu > high + 2.5)
                fail_msg("NVML says %u, the machine %.1f to %.1f", load.gpu, low, high);
}

static struct share owner;

static void share_start(unsigned cores)
{
        struct share_copy copy = { .device_count = WORKER_GPUS, .name = "test" };
        char path[128];
        struct err e = { 0 };

        worker_machine(NULL);
        for (unsigned i = 0; i < WORKER_GPUS; i++) {
                struct share_device *device = &copy.devices[i];
                memcpy(device->uuid, machine_gpu(sim_machine_open(), i)->uuid, SHARE_UUID);
                device->limit_bytes = device->physical_bytes = SHARE_UNLIMITED;
                device->cores_percent = cores;
        }
        snprintf(copy.region, sizeof copy.region, "%s" SIM_REGION, getenv("VGPU_SIM"));
        snprintf(path, sizeof path, "%s-share", getenv("VGPU_SIM"));
        setenv("VGPU_SHARE", path, 1);
        if (share_create(path, &copy, &e) < 0 || share_open(path, true, &owner, &e) < 0)
                fail_msg("%s", e.text);
}

static void share_set(unsigned cores)
{
        struct share_copy copy;
        struct err e = { 0 };

        memcpy(&copy, share_current(&owner), sizeof copy);
        copy.devices[0].cores_percent = cores;
        CHECK_EQ(share_update(&owner, &copy, &e), 0);
}

static struct load load_now(void *closure)
{
        struct worker_time begin_time = worker_time(0);

        (void)closure;
        usleep(JUDGE_RUN_MS * 1000);
        return worker_load(0, begin_time);
}

/* From 100 ms after the change on. */
static void check_after(unsigned cores)
{
        share_set(cores);
        usleep(100000);
        judge_limit(cores ? cores : 100, load_now, NULL);
}

/* Also where there was none, and where a program waits in deep debt. */
SIM_TEST(a_limit_that_changes_holds_at_once)
{
        struct worker w;

        share_start(0);
        pid_t pid = fork();
        if (pid == 0) {
                worker_start(&w);
                for (;;)
                        CHECK_EQ(cuLaunchKernel(w.kernels[0][KERNEL_2MS], 1, 1, 1, 32, 1, 1, 0,
                                                w.stream, NULL, NULL),
                                 CUDA_SUCCESS);
        }
        worker_watch(&pid, 1);
        usleep(300000);
        unlink(getenv("VGPU_SHARE"));
        /* What was submitted before there was a limit runs on: half a second of it fits a queue. */
        share_set(20);
        usleep(1300000);
        check_after(20);
        check_after(1);
        check_after(60);
        check_after(10);
        check_after(0);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

int main(void)
{
        return RUN(CASE(counted_when_a_stream_was_waited_for),
                   CASE(counted_when_a_context_was_waited_for),
                   CASE(counted_when_a_context_was_waited_for_by_name),
                   CASE(counted_when_an_event_was_waited_for),
                   CASE(counted_when_its_stream_has_ended),
                   CASE(counted_when_its_stream_has_ended_the_old_way),
                   CASE(counted_where_it_ran_when_contexts_are_set),
                   CASE(counted_where_it_ran_when_contexts_are_pushed_and_popped),
                   CASE(counted_where_it_ran_when_contexts_are_pushed_and_popped_the_old_way),
                   CASE(a_program_that_pauses_is_not_charged_for_its_pauses),
                   CASE(a_context_that_ends_with_work_in_it_takes_nothing_along),
                   CASE(nvml_shows_the_container_s_own_load),
                   CASE(nvml_does_not_show_what_the_gpu_did_for_a_neighbour_meanwhile),
                   CASE(a_limit_that_changes_holds_at_once));
}
