/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that export memory, send each other the handles, import what comes, and are killed anywhere: what
 * any of them holds, and what is on its way, counts; what nobody holds does not. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_prototypes.h"
#include "fd_pass.h"
#include "limit.h"
#include "say.h"

#define LIMIT_BYTES (256 * MIB)
#define BY_FILE     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
enum { WORKERS = 6, HELD = 8 };

/* Where handles go and come from; some fit there on their way. */
static int bag[2];

struct worker {
        struct limit_shared *shared;
        CUmemGenericAllocationHandle handles[HELD]; /* made or imported; 0: none */
        int fds[HELD];                              /* kept open, or −1 */
        unsigned seed;
};

static unsigned chance(struct worker *worker, unsigned sides)
{
        return (unsigned)rand_r(&worker->seed) % sides;
}

static void check(struct worker *worker, CUresult r)
{
        if (r == CUDA_ERROR_OUT_OF_MEMORY)
                worker->shared->refused[0]++;
        else if (r != CUDA_SUCCESS && worker->shared->wrong++ < 4)
                fprintf(stderr, "limit: a call answered %d\n", (int)r);
}

static bool bag_is_ready(int end, short events)
{
        struct pollfd poller = { .fd = bag[end], .events = events };

        return poll(&poller, 1, 0) == 1 && poller.revents & events;
}

static void make(struct worker *worker, unsigned at)
{
        static const CUmemAllocationProp prop = {
                .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                .requestedHandleTypes = BY_FILE,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
        };
        const size_t bytes = (1 + chance(worker, 12)) * 2 * MIB;
        CUresult r = cuMemCreate(&worker->handles[at], bytes, &prop, 0);

        check(worker, r);
        if (r != CUDA_SUCCESS) {
                worker->handles[at] = 0;
                return;
        }
        worker->shared->taken[0]++;
        check(worker,
              cuMemExportToShareableHandle(&worker->fds[at], worker->handles[at], BY_FILE, 0));
}

/* Others take from the bag meanwhile. */
static void receive(struct worker *worker, unsigned at)
{
        if (!bag_is_ready(1, POLLIN))
                return;
        worker->fds[at] = fd_receive(bag[1]);
        if (worker->fds[at] < 0)
                return;
        CUresult r = cuMemImportFromShareableHandle(&worker->handles[at],
                                                    (void *)(intptr_t)worker->fds[at], BY_FILE);
        check(worker, r);
        if (r == CUDA_SUCCESS)
                worker->shared->taken[1]++;
        else
                worker->handles[at] = 0;
}

static void release(struct worker *worker, unsigned at)
{
        if (worker->handles[at])
                check(worker, cuMemRelease(worker->handles[at]));
        worker->handles[at] = 0;
}

static void drop(struct worker *worker, unsigned at)
{
        if (worker->fds[at] >= 0)
                close(worker->fds[at]);
        worker->fds[at] = -1;
}

static void step(struct worker *worker)
{
        const unsigned at = chance(worker, HELD), what = chance(worker, 6);

        if (!worker->handles[at] && worker->fds[at] < 0) {
                if (what < 4)
                        make(worker, at);
                else
                        receive(worker, at);
        } else if (what < 2) {
                release(worker, at);
        } else if (what < 4) {
                drop(worker, at);
        } else if (worker->fds[at] >= 0 && bag_is_ready(0, POLLOUT)) {
                fd_send(bag[0], worker->fds[at]);
        }
}

static _Noreturn void work(struct limit_shared *shared, unsigned seed)
{
        struct worker worker = { .shared = shared, .seed = seed };
        CUcontext context;
        CUresult r = cuInit(0);

        for (unsigned i = 0; i < HELD; i++)
                worker.fds[i] = -1;
        if (r == CUDA_SUCCESS)
                r = cuCtxCreate_v2(&context, 0, 0);
        while (r == CUDA_ERROR_OUT_OF_MEMORY) { /* the container may be full for a moment */
                usleep(1000);
                r = cuCtxCreate_v2(&context, 0, 0);
        }
        check(&worker, r);
        while (!shared->is_over)
                step(&worker);
        _exit(0);
}

static pid_t worker_start(struct limit_run *run)
{
        const unsigned seed = run->seed += 7919;
        pid_t pid = limit_fork();

        if (pid == 0)
                work(run->shared, seed);
        return pid;
}

/* The bag is emptied now and then, or nothing in it would ever end. */
static void bag_empty(void)
{
        while (bag_is_ready(1, POLLIN)) {
                const int fd = fd_receive(bag[1]);
                if (fd >= 0)
                        close(fd);
        }
}

static uint64_t storm(struct limit_run *run, unsigned kills)
{
        pid_t pids[WORKERS];
        uint64_t most = 0;

        for (unsigned i = 0; i < WORKERS; i++)
                pids[i] = worker_start(run);
        for (unsigned k = 0; k < kills; k++) {
                const unsigned victim = (unsigned)rand_r(&run->seed) % WORKERS;
                for (unsigned i = 0; i < 20; i++) {
                        const uint64_t bytes = limit_gpu_bytes(run);
                        most = bytes > most ? bytes : most;
                        usleep((unsigned)rand_r(&run->seed) % 1000);
                }
                kill(pids[victim], SIGKILL);
                waitpid(pids[victim], NULL, 0);
                pids[victim] = worker_start(run);
                if (k % 5 == 0)
                        bag_empty();
        }
        for (unsigned i = 0; i < WORKERS; i++) {
                kill(pids[i], SIGKILL);
                waitpid(pids[i], NULL, 0);
        }
        return most;
}

void limit_export(unsigned kills)
{
        struct limit_run run = { 0 };

        limit_open(&run, LIMIT_BYTES, 0);
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, bag) < 0)
                exit(1);
        const uint64_t most = storm(&run, kills);
        const uint64_t on_the_way = limit_gpu_settled(&run);
        say(most <= LIMIT_BYTES, "the GPU never had more than the limit (%llu MiB at most)",
            (unsigned long long)(most / MIB));
        say(!run.shared->wrong && run.shared->taken[0] && run.shared->taken[1] &&
                    run.shared->refused[0],
            "%llu were made, %llu imported, %llu refused, %llu went wrong",
            (unsigned long long)run.shared->taken[0], (unsigned long long)run.shared->taken[1],
            (unsigned long long)run.shared->refused[0], (unsigned long long)run.shared->wrong);
        printf("# %llu MiB were on their way at the end\n", (unsigned long long)(on_the_way / MIB));
        bag_empty();
        limit_check_whole(&run);
        limit_close(&run);
}
