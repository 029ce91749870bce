/* SPDX-License-Identifier: Apache-2.0 */
/* A crowd: thousands of processes of one container hold memory at the same time. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cuda_prototypes.h"
#include "limit.h"
#include "region.h"
#include "say.h"

/* Each step of a member waits for a byte; one pipe per step, or one could take another's byte. */
struct pipes {
        int done[2], ask[2], end[2];
};

/* Takes its part, asks for more, ends. */
static _Noreturn void member_run(const struct pipes *pipes)
{
        CUdeviceptr memory, more;
        CUcontext context;
        char byte = 0;

        if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
                byte = 1;
        else if (cuMemAlloc_v2(&memory, 2 * MIB) != CUDA_SUCCESS)
                byte = 2;
        if (write(pipes->done[1], &byte, 1) != 1 || read(pipes->ask[0], &byte, 1) != 1)
                _exit(1);
        /* All hold theirs: not one byte more. */
        byte = cuMemAlloc_v2(&more, 1) != CUDA_ERROR_OUT_OF_MEMORY;
        if (write(pipes->done[1], &byte, 1) != 1 || read(pipes->end[0], &byte, 1) != 1)
                _exit(1);
        _exit(0);
}

static unsigned members_wait(int done, unsigned count)
{
        unsigned good = 0;
        char byte;

        for (unsigned i = 0; i < count; i++)
                good += read(done, &byte, 1) == 1 && byte == 0;
        return good;
}

static void members_go(int go, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                if (write(go, "", 1) != 1)
                        break;
}

static void region_check(struct limit_run *run, unsigned count)
{
        struct region region;
        unsigned live = 0;

        if (region_open(run->region_path, 1, &region, NULL) < 0)
                return say(false, "the region can be opened");
        for (uint32_t i = 1; i <= region.file->slots_high; i++)
                live += region_held_bytes(&region, i, 0) == 2 * MIB;
        say(live == count, "each has a process slot of its own in the region (%u of %u)", live,
            count);
        region_close(&region);
}

void limit_crowd(unsigned count)
{
        struct limit_run run;
        struct pipes pipes;
        int status, bad = 0;

        limit_open(&run, count * 2 * MIB, 0);
        if (pipe(pipes.done) < 0 || pipe(pipes.ask) < 0 || pipe(pipes.end) < 0)
                return say(false, "a pipe");
        uint64_t begin_ns = clock_now_ns();
        for (unsigned i = 0; i < count; i++)
                if (limit_fork() == 0)
                        member_run(&pipes);
        unsigned good = members_wait(pipes.done[0], count);
        say(good == count, "%u of %u processes hold their part at once, after %" PRIu64 " ms", good,
            count, (uint64_t)((clock_now_ns() - begin_ns) / NS_PER_MS));
        say(limit_gpu_bytes(&run) == run.limit_bytes, "the GPU shows the limit, to the byte");
        region_check(&run, count);
        members_go(pipes.ask[1], count);
        good = members_wait(pipes.done[0], count);
        say(good == count, "each is refused one byte more (%u of %u)", good, count);
        members_go(pipes.end[1], count);
        while (wait(&status) > 0)
                bad += status != 0;
        say(bad == 0, "they end as they should (%d do not)", bad);
        usleep(500000); /* a crowd's dead are looked for less often */
        limit_check_whole(&run);
        limit_close(&run);
}
