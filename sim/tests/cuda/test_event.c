/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of events: time between them is the model's, and streams wait for them. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"

/* Within one per cent, or 20 µs: the way to the GPU is part of what is measured. */
static void check_ms(float measured, double expected)
{
        double slack = expected * 0.01 > 0.02 ? expected * 0.01 : 0.02;

        if (measured < expected - slack || measured > expected + slack)
                fail_msg("measured %f ms, expected %f ms", (double)measured, expected);
}

SIM_TEST(the_time_between_events_is_the_kernels)
{
        struct exec_fixture exec = exec_start();
        CUstream stream;
        CUevent start, end;
        float ms;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
        OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
        /* Behind other work, what the host does in between is not part of it. */
        OK(exec_run(exec_function(&exec, "kernel_50ms"), stream));
        OK(cuEventRecord(start, stream));
        OK(exec_run(exec_function(&exec, "kernel_20ms"), stream));
        OK(exec_run(exec_function(&exec, "kernel_2ms"), stream));
        OK(cuEventRecord(end, stream));
        CHECK_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY);
        CHECK_EQ(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
        OK(cuEventSynchronize(end));
        OK(cuEventQuery(end));
        OK(cuEventElapsedTime(&ms, start, end));
        check_ms(ms, 22);
        OK(cuEventElapsedTime_v2(&ms, end, start));
        check_ms(-ms, 22);
}

SIM_TEST(a_late_query_finds_the_same_time)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "short_kernel");
        CUevent start, end;
        float ms;

        OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
        OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
        OK(exec_run(exec_function(&exec, "kernel_50ms"), NULL));
        OK(cuEventRecord(start, NULL));
        OK(exec_run(exec_function(&exec, "kernel_2ms"), NULL));
        OK(cuEventRecord(end, NULL));
        for (unsigned i = 0; i < 1500; i++) /* more than the machine keeps in flight */
                OK(exec_run(kernel, NULL));
        OK(cuCtxSynchronize());
        OK(cuEventElapsedTime(&ms, start, end));
        check_ms(ms, 2);
}

SIM_TEST(a_stream_waits_for_an_event_of_another)
{
        struct exec_fixture exec = exec_start();
        CUevent begin, between, end;
        CUstream first, second;
        float ms;

        OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
        OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(&begin, 0));
        OK(cuEventCreate(&between, 0));
        OK(cuEventCreate(&end, 0));
        OK(exec_run(exec_function(&exec, "kernel_50ms"), first));
        OK(cuEventRecord(begin, first));
        OK(exec_run(exec_function(&exec, "kernel_20ms"), first));
        OK(cuEventRecord(between, first));
        OK(cuStreamWaitEvent(second, between, 0));
        OK(cuEventRecord(end, second));
        CHECK_EQ(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
        OK(cuEventSynchronize(end));
        OK(cuStreamQuery(first));
        OK(cuEventElapsedTime(&ms, begin, end));
        check_ms(ms, 20);
}

SIM_TEST(streams_of_two_devices_wait_for_each_other)
{
        struct exec_fixture first, second;
        CUstream here, there;
        CUevent event;
        double begin;

        exec_machine(2);
        first = exec_attach(0);
        OK(cuStreamCreate(&here, CU_STREAM_NON_BLOCKING));
        OK(cuEventCreate(&event, 0));
        begin = exec_now_ms();
        OK(exec_run(exec_function(&first, "kernel_20ms"), here));
        OK(cuEventRecord(event, here));
        second = exec_attach(1);
        OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
        OK(cuStreamWaitEvent(there, event, 0));
        OK(exec_run(exec_function(&second, "kernel_2ms"), there));
        OK(cuStreamSynchronize(there));
        CHECK(exec_now_ms() - begin >= 22);
        CHECK_EQ(cuEventRecord(event, there), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(an_event_that_was_never_recorded_is_no_obstacle)
{
        struct exec_fixture exec = exec_start();
        CUevent event;

        (void)exec;
        OK(cuEventCreate(&event, 0));
        OK(cuEventQuery(event));
        OK(cuEventSynchronize(event));
        OK(cuStreamWaitEvent(NULL, event, 0));
        OK(cuStreamSynchronize(NULL));
}

SIM_TEST(what_cannot_be_measured_is_an_error)
{
        CUevent untimed, timed, none;
        float ms;

        exec_start();
        OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
        OK(cuEventCreate(&timed, CU_EVENT_BLOCKING_SYNC));
        OK(cuEventRecord(untimed, NULL));
        CHECK_EQ(cuEventElapsedTime(&ms, untimed, timed), CUDA_ERROR_INVALID_HANDLE);
        OK(cuEventRecord(timed, NULL));
        CHECK_EQ(cuEventElapsedTime(&ms, untimed, timed), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuEventElapsedTime(&ms, timed, NULL), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuEventCreate(&none, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuEventCreate(&none, 64), CUDA_ERROR_INVALID_VALUE);
        OK(cuEventDestroy_v2(timed));
        CHECK_EQ(cuEventDestroy_v2(timed), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuEventRecord(timed, NULL), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(an_event_of_the_context_waits_for_all_its_streams)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_2ms");
        CUstream streams[3];
        CUevent event;

        for (unsigned i = 0; i < 3; i++) {
                OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
                OK(exec_run(kernel, streams[i]));
        }
        OK(cuEventCreate(&event, 0));
        OK(cuCtxRecordEvent(exec.context, event));
        OK(cuEventSynchronize(event));
        for (unsigned i = 0; i < 3; i++)
                OK(cuStreamQuery(streams[i]));
}

SIM_TEST(an_idle_gpu_is_not_part_of_the_time)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_20ms");
        CUevent start, end;
        float ms;

        OK(cuEventCreate(&start, 0));
        OK(cuEventCreate(&end, 0));
        OK(exec_run(kernel, NULL));
        OK(cuCtxSynchronize());
        exec_sleep_ms(50);
        OK(cuEventRecord(start, NULL));
        OK(exec_run(kernel, NULL));
        OK(cuEventRecord(end, NULL));
        OK(cuCtxSynchronize());
        OK(cuEventElapsedTime(&ms, start, end));
        CHECK(ms >= 19.99 && ms < 60);
}

/* What the two processes of the next case share. */
struct meeting {
        CUipcEventHandle handle;
        double launched_ms;
        _Atomic int step;
};

static void await(struct meeting *meeting, int step)
{
        while (meeting->step < step)
                exec_sleep_ms(1);
}

static void importer(struct meeting *meeting)
{
        struct exec_fixture exec = exec_attach(0);
        CUevent event, back;

        await(meeting, 1);
        OK(cuIpcOpenEventHandle(&event, meeting->handle));
        CHECK_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        OK(cuStreamWaitEvent(NULL, event, 0));
        OK(exec_run(exec_function(&exec, "short_kernel"), NULL));
        OK(cuStreamSynchronize(NULL));
        OK(cuEventQuery(event));
        OK(cuEventSynchronize(event));
        /* Since then, not since this process came: on a busy machine that may be late. */
        CHECK(exec_now_ms() - meeting->launched_ms > 10 * 20 - 1);
        /* Recorded here, it holds for the exporter, too. */
        OK(exec_run(exec_function(&exec, "kernel_50ms"), NULL));
        OK(cuEventRecord(event, NULL));
        meeting->step = 2;
        OK(cuEventSynchronize(event));
        meeting->step = 3;
        OK(cuIpcOpenEventHandle(&back, meeting->handle));
        memset(&meeting->handle, 1, sizeof meeting->handle);
        CHECK_EQ(cuIpcOpenEventHandle(&back, meeting->handle), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(an_event_of_another_process_is_waited_for)
{
        struct meeting *meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        struct exec_fixture exec;
        CUevent event, plain;
        pid_t child;
        int status;

        CHECK(meeting != MAP_FAILED);
        exec_machine(1);
        child = fork();
        if (child == 0) {
                importer(meeting);
                _exit(0);
        }
        exec = exec_attach(0);
        OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
        OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
        CHECK_EQ(cuIpcGetEventHandle(&meeting->handle, plain), CUDA_ERROR_INVALID_HANDLE);
        meeting->launched_ms = exec_now_ms();
        for (unsigned i = 0; i < 10; i++)
                OK(exec_run(exec_function(&exec, "kernel_20ms"), NULL));
        OK(cuEventRecord(event, NULL));
        OK(cuIpcGetEventHandle(&meeting->handle, event));
        meeting->step = 1;
        await(meeting, 2);
        OK(cuEventSynchronize(event));
        CHECK(meeting->step == 3 || cuEventQuery(event) == CUDA_SUCCESS);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
}

int main(void)
{
        return RUN(CASE(an_event_of_another_process_is_waited_for),
                   CASE(an_idle_gpu_is_not_part_of_the_time),
                   CASE(the_time_between_events_is_the_kernels),
                   CASE(a_late_query_finds_the_same_time),
                   CASE(a_stream_waits_for_an_event_of_another),
                   CASE(streams_of_two_devices_wait_for_each_other),
                   CASE(an_event_that_was_never_recorded_is_no_obstacle),
                   CASE(what_cannot_be_measured_is_an_error),
                   CASE(an_event_of_the_context_waits_for_all_its_streams));
}
