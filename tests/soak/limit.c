/* SPDX-License-Identifier: Apache-2.0 */
/* limit [--tap] race PROCESSES SECONDS | end PROCESSES ENDS [RELEASE_US] | kill KILLS | crowd PROCESSES
 *       | export KILLS
 *
 * Run with libvgpu.so preloaded. What is checked is the GPU's own figure, not ours. */
#include "limit.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_prototypes.h"
#include "region.h"
#include "say.h"
#include "slot.h"
#include "unit_memory.h"

void limit_open(struct limit_run *run, uint64_t limit_bytes, uint64_t context_bytes)
{
        struct machine_spec spec;
        struct err e = { 0 };
        char text[32];

        machine_spec_init(&spec);
        spec.gpu_memory_bytes = UINT64_C(16) << 30;
        spec.context_bytes = (int64_t)context_bytes;
        run->limit_bytes = limit_bytes;
        run->shared = say_map(sizeof *run->shared);
        run->seed = (unsigned)time(NULL);
        snprintf(run->machine_path, sizeof run->machine_path, "/dev/shm/vgpu-limit-%d",
                 (int)getpid());
        snprintf(run->region_path, sizeof run->region_path, "%s-region", run->machine_path);
        if (machine_create(run->machine_path, &spec, &e) < 0 ||
            machine_open(run->machine_path, &run->machine, &e) < 0) {
                fprintf(stderr, "limit: %s\n", e.text);
                exit(1);
        }
        setenv("VGPU_SIM", run->machine_path, 1);
        setenv("VGPU_REGION", run->region_path, 1);
        snprintf(text, sizeof text, "%" PRIu64, limit_bytes);
        setenv("VGPU_MEMORY_LIMIT", text, 1);
        printf("# seed %u\n", run->seed);
        fflush(stdout);
}

void limit_close(struct limit_run *run)
{
        slot_reap(&run->machine);
        machine_close(&run->machine);
        unlink(run->machine_path);
        unlink(run->region_path);
}

pid_t limit_fork(void)
{
        pid_t pid = fork();

        if (pid == 0)
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

uint64_t limit_gpu_bytes(const struct limit_run *run)
{
        return __atomic_load_n(&machine_unit(&run->machine, 0)->used_bytes, __ATOMIC_ACQUIRE);
}

uint64_t limit_gpu_settled(struct limit_run *run)
{
        struct unit_memory memory;

        slot_reap(&run->machine);
        unit_memory(&run->machine, 0, &memory);
        return memory.used_bytes;
}

/* Exit: 0 all of it, 1 not so, 2 could not start. */
static int whole_take(void)
{
        size_t free_bytes, total_bytes;
        CUcontext context;
        CUdeviceptr memory, more;

        if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
            cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS)
                return 2;
        if (cuMemAlloc_v2(&memory, free_bytes) != CUDA_SUCCESS)
                return 1;
        if (cuMemAlloc_v2(&more, 1) != CUDA_ERROR_OUT_OF_MEMORY)
                return 1;
        return 0;
}

void limit_check_whole(struct limit_run *run)
{
        uint64_t *peak = say_map(sizeof *peak);
        int status = -1;

        fflush(stdout);
        usleep(50000); /* who has just died is shown as holding memory for 10 ms */
        pid_t pid = limit_fork();
        if (pid == 0) {
                int code = whole_take();
                *peak = limit_gpu_settled(run);
                _exit(code);
        }
        waitpid(pid, &status, 0);
        say(status == 0 && *peak == run->limit_bytes,
            "the whole limit can be had afterwards, to the byte (%" PRIu64 " of %" PRIu64
            ", status %d)",
            *peak, run->limit_bytes, status);
}

/* What the GPU has of a process: managed memory apart, it is there as far as it is used. */
struct gpu_part {
        uint64_t device_bytes, managed_bytes;
};

static struct gpu_part gpu_part_of(const struct limit_run *run, uint64_t pid)
{
        struct gpu_part part = { 0 };

        for (unsigned i = 0; i < MACHINE_SLOTS; i++) {
                const struct machine_slot *slot = &run->machine.file->slots[i];
                if (slot->state != SLOT_LIVE || (uint64_t)slot->pid != pid)
                        continue;
                part.device_bytes += slot->units[0].device_bytes;
                part.managed_bytes += slot->units[0].managed_bytes;
        }
        return part;
}

/* One process, as the region and as the GPU has it. */
static bool slot_agrees(const struct limit_run *run, const struct region *region, uint32_t slot)
{
        struct region_charges *charges = &region->file->slots[slot].charges[0];
        uint64_t held = region_held_bytes(region, slot, 0);
        uint64_t managed = charges->kinds[REGION_MANAGED];
        uint64_t pid = region->file->slots[slot].state >> 32;
        struct gpu_part gpu = gpu_part_of(run, pid);

        if (held - managed == gpu.device_bytes && managed >= gpu.managed_bytes)
                return true;
        fprintf(stderr,
                "limit: of process %" PRIu64 " the GPU has %" PRIu64 " and %" PRIu64
                " managed, the region %" PRIu64 " and %" PRIu64 "\n",
                pid, gpu.device_bytes, gpu.managed_bytes, held - managed, managed);
        return false;
}

bool limit_agrees(struct limit_run *run)
{
        struct region region;
        bool is_same = true;
        uint64_t sum = 0;

        if (region_open(run->region_path, 1, &region, NULL) < 0 || region_join(&region) < 0)
                return false;
        region_reap(&region);
        slot_reap(&run->machine);
        for (uint32_t i = 1; i <= region.file->slots_high; i++) {
                sum += region_held_bytes(&region, i, 0);
                if (i != region.slot && region_slot_is_alive(&region, i))
                        is_same = slot_agrees(run, &region, i) && is_same;
        }
        is_same = is_same && sum == region_used_bytes(&region, 0) && sum >= limit_gpu_bytes(run);
        region_close(&region);
        return is_same;
}

static unsigned number(const char *text)
{
        return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
        const bool is_tap = argc > 1 && strcmp(argv[1], "--tap") == 0;
        char **words = argv + 1 + is_tap;
        const char *what = *words ? *words++ : "";

        say_open();
        if (strcmp(what, "race") == 0 && number(words[0]) && number(words[1])) {
                limit_race(number(words[0]), number(words[1]));
        } else if (strcmp(what, "end") == 0 && number(words[0]) && number(words[1])) {
                limit_end(number(words[0]), number(words[1]), number(words[2]));
        } else if (strcmp(what, "kill") == 0 && number(words[0])) {
                limit_kill(number(words[0]));
        } else if (strcmp(what, "crowd") == 0 && number(words[0])) {
                limit_crowd(number(words[0]));
        } else if (strcmp(what, "export") == 0 && number(words[0])) {
                limit_export(number(words[0]));
        } else {
                fputs("Usage: limit [--tap] race PROCESSES SECONDS | end PROCESSES ENDS "
                      "[RELEASE_US] | kill KILLS | crowd PROCESSES | export KILLS\n",
                      stderr);
                return 2;
        }
        return say_close(is_tap);
}
