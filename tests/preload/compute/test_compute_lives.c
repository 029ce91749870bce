/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU did for a container is charged to it, however short its programs and contexts live and
 * however they end: by the machine's own counters (judge.h). */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "judge.h"
#include "region.h"

enum { LIMIT = 20, RUN_MS = 3000, PROGRAMS = 2, KERNEL_MS = 20 };

static void launch(CUfunction kernel, CUstream stream)
{
        CHECK_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), CUDA_SUCCESS);
}

/* One program: a kernel that nobody knows yet, and its end. */
static pid_t program_start(void (*end)(struct worker *worker))
{
        struct worker worker;
        pid_t pid = fork();

        if (pid)
                return pid;
        worker_start(&worker);
        launch(worker.kernels[0][KERNEL_20MS], worker.stream);
        end(&worker);
        _exit(0);
}

static uint64_t done_ns(void)
{
        return worker_time(0).busy_ns;
}

struct programs {
        void (*end)(struct worker *worker);
};

/* One after the other for so long, and some at a time. */
static struct load programs_run(const struct programs *programs, unsigned ms)
{
        struct worker_time begin = worker_time(0), now = begin;
        uint64_t late_ns = 0;

        for (unsigned i = 0; i < PROGRAMS; i++)
                program_start(programs->end);
        while (now.clock_ns - begin.clock_ns < ms * NS_PER_MS) {
                uint64_t its_ns = 0;
                CHECK(worker_reap(&its_ns) > 0);
                late_ns += its_ns;
                program_start(programs->end);
                now = worker_time(0);
        }
        now.late_ns += late_ns;
        while (waitpid(-1, NULL, 0) > 0)
                ;
        return load_between(begin, now);
}

static struct load programs_measure(void *closure)
{
        programs_run(closure, JUDGE_WARM_MS); /* what an idle container has saved up */
        return programs_run(closure, RUN_MS);
}

static void check_programs(void (*end)(struct worker *worker))
{
        struct programs programs = { end };

        worker_machine("20");
        judge_limit(LIMIT, programs_measure, &programs);
        /* The last ones are charged by the next that comes. */
        struct worker worker;
        worker_start(&worker);
        const uint64_t counted_ns = worker_counted_ns(0);
        CHECK(counted_ns + PROGRAMS * KERNEL_MS * NS_PER_MS >= done_ns());
        CHECK(counted_ns <= done_ns() * 3 / 2);
}

static void end_by_copy(struct worker *w)
{
        CUdeviceptr memory;
        char byte;

        CHECK_EQ(cuMemAlloc_v2(&memory, 1), CUDA_SUCCESS);
        CHECK_EQ(cuLaunchKernel(w->kernels[0][KERNEL_20MS], 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyDtoH_v2(&byte, memory, 1), CUDA_SUCCESS);
}

static void end_by_query(struct worker *w)
{
        while (cuStreamQuery(w->stream) == CUDA_ERROR_NOT_READY)
                usleep(200);
}

static void end_by_event(struct worker *w)
{
        CUevent event;

        CHECK_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        CHECK_EQ(cuEventRecord(event, w->stream), CUDA_SUCCESS);
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
                usleep(200);
}

static void end_by_free(struct worker *w)
{
        CUdeviceptr memory;

        CHECK_EQ(cuMemAlloc_v2(&memory, 1 << 20), CUDA_SUCCESS);
        end_by_query(w);
        CHECK_EQ(cuMemFree_v2(memory), CUDA_SUCCESS);
}

static void end_after_a_sleep(struct worker *w)
{
        (void)w;
        usleep(35000);
}

static void end_by_signal(struct worker *w)
{
        (void)w;
        usleep(15000);
        kill(getpid(), SIGKILL);
}

SIM_TEST(programs_that_end_after_a_copy)
{
        check_programs(end_by_copy);
}

SIM_TEST(programs_that_query_a_stream_and_end)
{
        check_programs(end_by_query);
}

SIM_TEST(programs_that_query_an_event_and_end)
{
        check_programs(end_by_event);
}

SIM_TEST(programs_that_end_after_freeing_memory)
{
        check_programs(end_by_free);
}

SIM_TEST(programs_that_end_without_looking)
{
        check_programs(end_after_a_sleep);
}

SIM_TEST(programs_that_are_killed_at_work)
{
        check_programs(end_by_signal);
}

static void context_each(struct worker *w)
{
        CUcontext context;
        CUfunction kernel;
        CUmodule module;

        (void)w;
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuModuleLoadData(&module, ".version 7.0\n.target sm_60\n.address_size 64\n"
                                           ".visible .entry k20ms()\n{\nret;\n}\n"),
                 CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetFunction(&kernel, module, "k20ms"), CUDA_SUCCESS);
        launch(kernel, NULL);
        CHECK_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
}

SIM_TEST(a_context_for_each_piece_of_work)
{
        struct worker worker;

        worker_machine("20");
        worker_start(&worker);
        judge_rounds(LIMIT, &worker, context_each, RUN_MS);
        CHECK(worker_counted_ns(0) + KERNEL_MS * NS_PER_MS >= done_ns());
}

/* Work is in flight as the primary context goes; one that stays is measured on. */
SIM_TEST(a_primary_context_that_is_reset)
{
        struct worker w;

        worker_machine("20");
        worker_start(&w);
        launch(w.kernels[0][KERNEL_20MS], w.stream);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&w.contexts[0], 0), CUDA_SUCCESS);
        CHECK_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
        launch(w.kernels[0][KERNEL_20MS], w.stream);
        CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        CHECK_EQ(done_ns() / NS_PER_MS, 2 * KERNEL_MS);
        CHECK(worker_counted_ns(0) / NS_PER_MS >= 2 * KERNEL_MS - 2);
}

/* Whatever it was about to do: what was done is charged, but for one launch per process. */
SIM_TEST(killed_at_any_moment)
{
        worker_machine("20");
        for (unsigned i = 0; i < 12; i++) {
                pid_t pid = program_start(end_after_a_sleep);
                usleep(20000 + i * i * 777 % 50000);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                CHECK(worker_counted_ns(0) + (i + 1) * KERNEL_MS * NS_PER_MS >= done_ns());
        }
}

enum { SPINS = 16, SPINS_LONG = 8, SPIN_SHORT_US = 20, SPIN_LONG_US = 30000 };

static void spins(CUfunction kernel, unsigned count, unsigned us)
{
        unsigned ns = us * 1000;
        void *params[] = { &ns };

        for (unsigned i = 0; i < count; i++)
                CHECK_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                         CUDA_SUCCESS);
}

static void spin_and_die(unsigned rounds)
{
        struct worker worker;
        CUfunction kernel;
        CUmodule module;

        worker_start(&worker);
        CHECK_EQ(cuModuleLoadData(&module, ".version 6.3\n.target sm_70\n.address_size 64\n"
                                           ".visible .entry spin(.param .u32 ns)\n{\n"
                                           ".reg .u32 %r1;\nld.param.u32 %r1, [ns];\n"
                                           "nanosleep.u32 %r1;\nret;\n}\n"),
                 CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetFunction(&kernel, module, "spin"), CUDA_SUCCESS);
        for (unsigned i = 0; i < rounds; i++) {
                spins(kernel, SPINS, SPIN_SHORT_US);
                CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        }
        spins(kernel, SPINS_LONG, SPIN_LONG_US);
        usleep(200000);
        kill(getpid(), SIGKILL);
}

/* All of it passed on credit for kernels of 20 µs, and nobody asked whether it is done. */
SIM_TEST(killed_in_work_that_takes_longer_than_was_learned)
{
        enum { ROUNDS = 64, TRIES = 6, UNSEEN_MS = SPIN_LONG_US / 1000 + 5 };

        worker_machine("80");
        for (unsigned i = 1; i <= TRIES; i++) { /* now and then a launch is measured by itself */
                if (fork() == 0)
                        spin_and_die(ROUNDS + i);
                waitpid(-1, NULL, 0);
                program_start(end_by_query); /* looks for the dead */
                waitpid(-1, NULL, 0);
                CHECK(done_ns() >= i * 100 * NS_PER_MS);
                CHECK(worker_counted_ns(0) + i * UNSEEN_MS * NS_PER_MS >= done_ns());
        }
}

/* Until when the container pays for what was charged so far, as the word has it. */
static uint64_t paid_ms(void)
{
        static struct region region;
        struct err e = { 0 };

        if (!region.file && region_open(getenv("VGPU_REGION"), 1, &region, &e) < 0)
                fail_msg("%s", e.text);
        return (atomic_load(&region.file->computes[0].debt) >> 10) * 64 / NS_PER_MS;
}

/* 20 ms at a limit of 20 are 100 ms; a guess would be 10. */
SIM_TEST(a_program_knows_what_another_learned)
{
        struct worker w;

        worker_machine("20");
        program_start(end_by_query);
        waitpid(-1, NULL, 0);
        worker_start(&w);
        const uint64_t before_ms = paid_ms();
        launch(w.kernels[0][KERNEL_20MS], w.stream);
        CHECK(paid_ms() - before_ms > 90);
}

int main(void)
{
        return RUN(CASE(programs_that_end_after_a_copy), CASE(programs_that_query_a_stream_and_end),
                   CASE(programs_that_query_an_event_and_end),
                   CASE(programs_that_end_after_freeing_memory),
                   CASE(programs_that_end_without_looking), CASE(programs_that_are_killed_at_work),
                   CASE(a_context_for_each_piece_of_work), CASE(a_primary_context_that_is_reset),
                   CASE(killed_at_any_moment),
                   CASE(killed_in_work_that_takes_longer_than_was_learned),
                   CASE(a_program_knows_what_another_learned));
}
