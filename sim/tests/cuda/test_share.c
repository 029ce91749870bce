/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of two processes on one GPU: each gets half of it, and each sees half of its speed. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"

enum { PROCESSES = 2, RUN_MS = 1500, IN_FLIGHT = 32, KERNEL_MS = 2 };

/* What the processes tell each other. */
struct board {
        _Atomic unsigned ready;
        unsigned kernels[PROCESSES]; /* completed while both ran */
        float kernel_ms[PROCESSES];  /* as events measured one, on average */
};

/* Endless kernels: there is always one behind the one that runs. */
static void worker(struct board *board, unsigned self)
{
        struct exec_fixture exec = exec_attach(0);
        CUfunction kernel = exec_function(&exec, "kernel_2ms");
        CUevent events[IN_FLIGHT];
        unsigned submitted = 0, done = 0;
        float sum_ms = 0;

        for (unsigned i = 0; i < IN_FLIGHT; i++)
                OK(cuEventCreate(&events[i], 0));
        board->ready++;
        while (board->ready < PROCESSES)
                exec_sleep_ms(1);

        double begin = exec_now_ms();
        while (exec_now_ms() - begin < RUN_MS) {
                float ms;

                OK(exec_run(kernel, NULL));
                OK(cuEventRecord(events[submitted++ % IN_FLIGHT], NULL));
                if (submitted < IN_FLIGHT)
                        continue;
                OK(cuEventSynchronize(events[(done + 1) % IN_FLIGHT]));
                OK(cuEventElapsedTime(&ms, events[done % IN_FLIGHT],
                                      events[(done + 1) % IN_FLIGHT]));
                sum_ms += ms;
                done++;
        }
        board->kernels[self] = done;
        board->kernel_ms[self] = sum_ms / (float)done;
        OK(cuCtxSynchronize());
}

static struct board *share_for_a_while(void)
{
        struct board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pid_t pids[PROCESSES];

        CHECK(board != MAP_FAILED);
        exec_machine(1);
        for (unsigned i = 0; i < PROCESSES; i++) {
                pids[i] = fork();
                CHECK(pids[i] >= 0);
                if (pids[i] == 0) {
                        worker(board, i);
                        _exit(0);
                }
        }
        for (unsigned i = 0; i < PROCESSES; i++) {
                int status;

                CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
                CHECK_EQ(status, 0);
        }
        return board;
}

SIM_TEST(two_processes_get_half_each_and_see_half_speed)
{
        struct board *board = share_for_a_while();
        double total = board->kernels[0] + board->kernels[1];
        double first = 100 * board->kernels[0] / total;

        print_message("# %u and %u kernels (%.1f %%), %.3f and %.3f ms each\n", board->kernels[0],
                      board->kernels[1], first, (double)board->kernel_ms[0],
                      (double)board->kernel_ms[1]);
        CHECK(first > 48 && first < 52);
        for (unsigned i = 0; i < PROCESSES; i++) {
                CHECK(board->kernel_ms[i] > 1.9 * KERNEL_MS);
                CHECK(board->kernel_ms[i] < 2.1 * KERNEL_MS);
        }
        /* Nothing of the GPU was left unused. */
        CHECK(total * KERNEL_MS > 0.95 * RUN_MS);
}

int main(void)
{
        return RUN(CASE(two_processes_get_half_each_and_see_half_speed));
}
