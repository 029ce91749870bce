/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of streams: work goes on behind the program's back, in the order that streams promise. */
#include <stdatomic.h>
#include <string.h>

#include "exec.h"

SIM_TEST(a_launch_returns_at_once_and_the_stream_is_busy_until_it_is_done)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_50ms");
        CUstream stream;
        double begin;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuStreamQuery(stream));
        begin = exec_now_ms();
        OK(exec_run(kernel, stream));
        CHECK(exec_now_ms() - begin < 40);
        CHECK_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        OK(cuStreamSynchronize(stream));
        CHECK(exec_now_ms() - begin >= 50);
        OK(cuStreamQuery(stream));
        OK(cuStreamDestroy_v2(stream));
}

SIM_TEST(work_goes_on_while_the_process_sleeps)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_50ms");
        double begin;

        OK(exec_run(kernel, NULL));
        exec_sleep_ms(60);
        begin = exec_now_ms();
        OK(cuStreamSynchronize(NULL));
        CHECK(exec_now_ms() - begin < 40);
}

static _Atomic int number;

static void take_number(void *ret_number)
{
        *(int *)ret_number = ++number;
}

static void take_number_late(CUstream stream, CUresult status, void *ret_number)
{
        (void)stream;
        CHECK_EQ(status, CUDA_SUCCESS);
        take_number(ret_number);
}

SIM_TEST(host_functions_run_in_the_order_of_their_stream)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_2ms");
        int first = 0, second = 0, third = 0;
        CUstream stream;

        OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
        OK(exec_run(exec_function(&exec, "kernel_50ms"), stream));
        OK(cuLaunchHostFunc(stream, take_number, &first));
        OK(exec_run(kernel, stream));
        OK(cuStreamAddCallback(stream, take_number_late, &second, 0));
        OK(cuLaunchHostFunc(stream, take_number, &third));
        CHECK_EQ(first, 0);
        OK(cuStreamSynchronize(stream));
        CHECK_EQ(first, 1);
        CHECK_EQ(second, 2);
        CHECK_EQ(third, 3);
}

SIM_TEST(the_legacy_stream_waits_for_blocking_streams_and_they_for_it)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_20ms");
        int behind_legacy = 0, behind_stream = 0;
        CUstream stream;
        double begin = exec_now_ms();

        OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
        OK(exec_run(kernel, stream));
        OK(cuLaunchHostFunc(NULL, take_number, &behind_legacy));
        OK(cuLaunchHostFunc(stream, take_number, &behind_stream));
        OK(cuStreamSynchronize(stream));
        CHECK(exec_now_ms() - begin >= 20);
        CHECK_EQ(behind_legacy, 1);
        CHECK_EQ(behind_stream, 2);
}

SIM_TEST(a_non_blocking_stream_does_not_wait_for_the_legacy_stream)
{
        struct exec_fixture exec = exec_start();
        int done = 0;
        CUstream stream;

        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(exec_run(exec_function(&exec, "kernel_50ms"), NULL));
        OK(cuLaunchHostFunc(stream, take_number, &done));
        OK(cuStreamSynchronize(stream));
        CHECK_EQ(done, 1);
        CHECK_EQ(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
        OK(cuCtxSynchronize());
        OK(cuStreamQuery(NULL));
}

SIM_TEST(a_stream_waits_for_a_value_that_another_writes)
{
        struct exec_fixture exec = exec_start();
        CUstream waiting, writing;
        CUdeviceptr word;
        unsigned read = 0;

        OK(cuMemAlloc_v2(&word, 64));
        OK(cuMemsetD32_v2(word, 0, 16));
        OK(cuCtxSynchronize()); /* neither stream waits for the default one */
        OK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
        OK(cuStreamCreate(&writing, CU_STREAM_NON_BLOCKING));
        OK(cuStreamWaitValue32_v2(waiting, word, 7, CU_STREAM_WAIT_VALUE_GEQ));
        OK(cuStreamWriteValue32_v2(waiting, word + 4, 9, 0));
        exec_sleep_ms(5);
        CHECK_EQ(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
        OK(exec_run(exec_function(&exec, "kernel_2ms"), writing));
        OK(cuStreamWriteValue32_v2(writing, word, 8, 0));
        OK(cuStreamSynchronize(waiting));
        OK(cuMemcpyDtoH_v2(&read, word + 4, 4));
        CHECK_EQ(read, 9);
        CHECK_EQ(cuStreamWaitValue32_v2(waiting, word + 1, 7, 0), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuStreamWaitValue64_v2(waiting, 4096, 7, 0), CUDA_ERROR_INVALID_VALUE);
}

struct attempt {
        CUcontext context;
        CUstream stream;
        CUresult result;
};

static void wait_for_oneself(void *closure)
{
        struct attempt *attempt = closure;

        OK(cuCtxSetCurrent(attempt->context));
        attempt->result = cuStreamSynchronize(attempt->stream);
}

SIM_TEST(a_host_function_cannot_wait_for_its_own_stream)
{
        struct exec_fixture exec = exec_start();
        struct attempt attempt = { exec.context, NULL, CUDA_SUCCESS };

        OK(cuStreamCreate(&attempt.stream, CU_STREAM_NON_BLOCKING));
        OK(cuLaunchHostFunc(attempt.stream, wait_for_oneself, &attempt));
        OK(cuStreamSynchronize(attempt.stream));
        CHECK_EQ(attempt.result, CUDA_ERROR_NOT_PERMITTED);
}

SIM_TEST(streams_say_what_they_are)
{
        struct exec_fixture exec = exec_start();
        unsigned long long first, second;
        CUstreamAttrValue value;
        CUcontext context;
        CUstream stream;
        unsigned flags;
        int priority;

        OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -99));
        OK(cuStreamGetPriority(stream, &priority));
        CHECK_EQ(priority, -5);
        OK(cuStreamGetFlags(stream, &flags));
        CHECK_EQ(flags, CU_STREAM_NON_BLOCKING);
        OK(cuStreamGetCtx(stream, &context));
        CHECK(context == exec.context);
        OK(cuStreamGetId(stream, &first));
        OK(cuStreamGetId(NULL, &second));
        CHECK(first != second);
        memset(&value, 0, sizeof value);
        value.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
        OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
        OK(cuStreamCopyAttributes(NULL, stream));
        memset(&value, 0, sizeof value);
        OK(cuStreamGetAttribute(NULL, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
        CHECK_EQ(value.syncPolicy, CU_SYNC_POLICY_BLOCKING_SYNC);
        OK(cuStreamDestroy_v2(stream));
}

SIM_TEST(bad_handles_and_flags_are_refused)
{
        CUstream stream;

        exec_start();
        CHECK_EQ(cuStreamCreate(&stream, 8), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
        OK(cuStreamCreate(&stream, 0));
        OK(cuStreamDestroy_v2(stream));
        CHECK_EQ(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuLaunchHostFunc(NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
        return RUN(CASE(a_launch_returns_at_once_and_the_stream_is_busy_until_it_is_done),
                   CASE(work_goes_on_while_the_process_sleeps),
                   CASE(host_functions_run_in_the_order_of_their_stream),
                   CASE(the_legacy_stream_waits_for_blocking_streams_and_they_for_it),
                   CASE(a_non_blocking_stream_does_not_wait_for_the_legacy_stream),
                   CASE(a_stream_waits_for_a_value_that_another_writes),
                   CASE(a_host_function_cannot_wait_for_its_own_stream),
                   CASE(streams_say_what_they_are), CASE(bad_handles_and_flags_are_refused));
}
