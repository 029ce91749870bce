/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the data in virtual memory, by the results of kernels; also among many processes. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "virtual_case.h"

/* Twice the GPU's part, filled by kernels, passed round and summed; the GPU never holds more. */
static void data_check(unsigned seed, unsigned count, size_t bytes, uint64_t device_bytes)
{
        CUdeviceptr buffers[16], out;

        GOOD(cuMemAlloc_v2(&out, 4));
        for (unsigned i = 0; i < count; i++)
                GOOD(cuMemAlloc_v2(&buffers[i], bytes));
        for (unsigned i = 0; i < count; i++) {
                kernels_run(kernels.fill, buffers[i], seed + i, bytes, NULL);
                CHECK(guest_device_bytes(0) <= device_bytes);
        }
        for (unsigned i = 0; i + 1 < count; i++) /* the first one's words reach the last */
                kernels_run(kernels.pass, buffers[i], buffers[i + 1], bytes, NULL);
        for (unsigned i = 0; i < count; i++)
                CHECK_EQ(kernels_sum(buffers[i], out, bytes), kernels_sum_expected(seed, i, bytes));
        CHECK(guest_device_bytes(0) <= device_bytes);
        for (unsigned i = 0; i < count; i++)
                GOOD(cuMemFree_v2(buffers[i]));
        GOOD(cuMemFree_v2(out));
}

SIM_TEST(data_is_right_at_twice_the_gpu_s_part)
{
        begin("32m", "2");
        kernels_load();
        uint64_t module = guest_device_bytes(0);
        data_check(17, 8, 3 * MIB, 16 * MIB);
        CHECK_EQ(guest_device_bytes(0), module);
        CHECK_EQ(guest_virtual(), 0);
}

/* One allocation, part of it on the GPU. */
SIM_TEST(data_is_right_across_the_edge_of_the_gpu_s_part)
{
        size_t bytes = 24 * MIB;
        CUdeviceptr all, out;

        begin("32m", "2");
        kernels_load();
        GOOD(cuMemAlloc_v2(&out, 4));
        GOOD(cuMemAlloc_v2(&all, bytes));
        kernels_run(kernels.fill, all, 5, bytes, NULL);
        CHECK_EQ(kernels_sum(all, out, bytes), kernels_sum_expected(5, 0, bytes));
        /* The GPU holds the module, the word, and eight of these. */
        CHECK(guest_device_bytes(0) >= 8 * MIB);
        CHECK(guest_device_bytes(0) <= guest_held() - 16 * MIB);
        CHECK(guest_device_bytes(0) <= 16 * MIB);
}

static int data_child(void)
{
        guest_start(NULL);
        kernels_load();
        data_check((unsigned)getpid(), 7, 3 * MIB, 32 * MIB);
        return 0;
}

static void *data_child_wait(void *unused)
{
        (void)unused;
        return (void *)(intptr_t)sim_in_child(data_child);
}

SIM_TEST(data_is_right_in_two_processes_at_once)
{
        pthread_t other;
        void *code;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "64m", 1);
        setenv("VGPU_MEMORY_RATIO", "2", 1);
        CHECK_EQ(pthread_create(&other, NULL, data_child_wait, NULL), 0);
        CHECK_EQ(sim_in_child(data_child), 0);
        pthread_join(other, &code);
        CHECK_EQ((intptr_t)code, 0);
        CHECK_EQ(guest_device_bytes(0), 0);
}

/* One of several that take, use and give back at random, and may be killed at it. */
static void racer(unsigned seed)
{
        CUdeviceptr held[8] = { 0 };

        guest_start(NULL);
        kernels_load();
        raise(SIGSTOP); /* until all have theirs: code is the GPU's */
        for (unsigned round = 0; round < 60; round++) {
                seed = seed * 1103515245 + 12345;
                CUdeviceptr *one = &held[seed >> 16 & 7];
                size_t bytes = (1 + (seed >> 20) % 12) * MIB;
                if (*one) {
                        GOOD(cuMemFree_v2(*one));
                        *one = 0;
                } else if (cuMemAlloc_v2(one, bytes) == CUDA_SUCCESS) {
                        kernels_run(kernels.fill, *one, round, 64 << 10, NULL);
                } else {
                        *one = 0;
                }
        }
        raise(SIGSTOP);
        _exit(0);
}

SIM_TEST(racing_and_killed_processes_never_exceed_the_gpu_s_part)
{
        enum { RACERS = 6 };
        CUdeviceptr all;
        pid_t pids[RACERS];
        unsigned living = RACERS;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "128m", 1);
        setenv("VGPU_MEMORY_RATIO", "2", 1);
        for (unsigned i = 0; i < RACERS; i++) {
                pids[i] = fork();
                if (pids[i] == 0)
                        racer(7919 * i + (unsigned)getpid());
        }
        for (unsigned i = 0; i < RACERS; i++)
                waitpid(pids[i], NULL, WUNTRACED);
        for (unsigned i = 0; i < RACERS; i++)
                kill(pids[i], SIGCONT);
        /* Nobody ends meanwhile but the one who is killed: the GPU forgets the dead when it is asked,
         * the region when it is short. */
        for (unsigned sample = 0; living; sample++) {
                int status;
                CHECK(guest_device_bytes(0) <= 64 * MIB);
                if (sample == 300)
                        kill(pids[1], SIGKILL);
                pid_t pid = waitpid(sample == 300 ? pids[1] : -1, &status,
                                    sample == 300 ? 0 : WNOHANG | WUNTRACED);
                CHECK(pid <= 0 || WIFSTOPPED(status) || status == SIGKILL);
                living -= pid > 0;
        }
        for (unsigned i = 0; i < RACERS; i++)
                kill(pids[i], SIGKILL);
        while (wait(NULL) > 0)
                continue;
        guest_start(NULL);
        CHECK_EQ(guest_device_bytes(0), 0);
        GOOD(cuMemAlloc_v2(&all, 128 * MIB));
        CHECK_EQ(guest_held(), 128 * MIB);
}

/* A thread that takes and gives back in every combination, on a stream of its own. */
static void *thread_run(void *context)
{
        CUdeviceptr held[4] = { 0 };
        CUstream stream;

        GOOD(cuCtxSetCurrent(context));
        GOOD(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        for (unsigned round = 0; round < 200; round++) {
                CUdeviceptr *one = &held[round & 3];
                size_t bytes = (4 + round % 3 * 4) * MIB;
                if (*one)
                        GOOD(round & 16 ? cuMemFreeAsync(*one, stream) : cuMemFree_v2(*one));
                *one = 0;
                CUresult r =
                        round & 8 ? cuMemAllocAsync(one, bytes, stream) : cuMemAlloc_v2(one, bytes);
                CHECK(r == CUDA_SUCCESS || r == CUDA_ERROR_OUT_OF_MEMORY);
                if (r == CUDA_SUCCESS)
                        kernels_run(kernels.fill, *one, round, 64 << 10, stream);
                else
                        *one = 0;
        }
        for (unsigned i = 0; i < 4; i++)
                GOOD(held[i] ? cuMemFreeAsync(held[i], stream) : CUDA_SUCCESS);
        GOOD(cuStreamSynchronize(stream));
        return NULL;
}

SIM_TEST(threads_that_free_in_and_out_of_order_leave_nothing)
{
        pthread_t threads[4];
        CUcontext context;

        begin("96m", "2");
        kernels_load();
        GOOD(cuCtxGetCurrent(&context));
        uint64_t before = guest_device_bytes(0);
        for (unsigned i = 0; i < 4; i++)
                CHECK_EQ(pthread_create(&threads[i], NULL, thread_run, context), 0);
        for (unsigned i = 0; i < 4; i++)
                CHECK_EQ(pthread_join(threads[i], NULL), 0);
        GOOD(cuCtxSynchronize());
        CHECK(guest_held() >= before);
        CHECK_EQ(guest_device_bytes(0), before);
        CHECK_EQ(guest_virtual(), 0);
}

int main(void)
{
        return RUN(CASE(data_is_right_at_twice_the_gpu_s_part),
                   CASE(data_is_right_across_the_edge_of_the_gpu_s_part),
                   CASE(data_is_right_in_two_processes_at_once),
                   CASE(threads_that_free_in_and_out_of_order_leave_nothing),
                   CASE(racing_and_killed_processes_never_exceed_the_gpu_s_part));
}
