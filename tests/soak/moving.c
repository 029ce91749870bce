/* SPDX-License-Identifier: Apache-2.0 */
/* moving [--tap] VGPU HURTS [SEED]: containers that have more memory than their part of the GPU, and together more on it
 * than it has. Processes of theirs are killed and stopped at random, HURTS times, while the others work.
 *
 * By the GPU's own figure, at every look: no container has more on the GPU than its physical part, and the GPU no more
 * than it has. What survivors wrote is there. Nothing of the dead stays on the GPU or charged. All work again after. */
#include "moving.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "machine.h"
#include "region_view.h"
#include "say.h"
#include "slot.h"
#include "unit_memory.h"

enum {
        GPU_MIB = 512,
        PAUSE_MS = 60,
        LONG_PAUSE_MS = 1500,
        STOPPED_MS = 250,
        CHECK_EVERY = 20,
        PATIENCE_S = 60
};
#define SAMPLE_NS (500 * NS_PER_US)

/* Together 832 MiB of 512 on the GPU. Each process has as many blocks as make its share spill. */
static const struct {
        const char *name, *memory, *more[4];
        unsigned physical_mib, whole_mib, blocks;
        enum moving_kind kind;
} shares[MOVING_SHARES] = {
        { "device",
          "320Mi",
          { "--oversold", "--oversold-host-memory", "128Mi" },
          320,
          448,
          12,
          MOVING_DEVICE },
        { "managed",
          "320Mi",
          { "--oversold", "--oversold-host-memory", "128Mi" },
          320,
          448,
          12,
          MOVING_MANAGED },
        { "ratio", "384Mi", { "--memory-ratio", "2" }, 192, 384, 11, MOVING_MIXED },
};

struct soak {
        const char *vgpu, *self;
        char folder[64], machine_path[96];
        struct machine machine;
        struct moving_board *board;
        pid_t pids[MOVING_PROCESSES];
        uint64_t continue_ns[MOVING_PROCESSES]; /* of a stopped one; 0: it runs */
        unsigned seed;
        uint64_t samples, beyond[MOVING_SHARES], most_mib[MOVING_SHARES], over;
        unsigned killed, stopped, idle, charged, ended;
};

static void sleep_ns(uint64_t ns)
{
        nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
                                      .tv_nsec = (long)(ns % NS_PER_S) },
                  NULL);
}

static unsigned chance(struct soak *soak, unsigned sides)
{
        return (unsigned)rand_r(&soak->seed) % sides;
}

static _Noreturn void fail(const char *what, const char *why)
{
        printf("Bail out! %s: %s\n", what, why);
        exit(2);
}

static struct moving_board *board_map(const char *path)
{
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct moving_board *board = MAP_FAILED;

        if (fd >= 0 && ftruncate(fd, sizeof *board) == 0)
                board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (board == MAP_FAILED)
                fail(path, strerror(errno));
        close(fd);
        return board;
}

static void soak_open(struct soak *soak)
{
        static const struct machine_kernel_time kernel = { "moving_user", 300 };
        struct machine_spec spec;
        struct err e = { 0 };
        char path[96];

        snprintf(soak->folder, sizeof soak->folder, "%s/vgpu-moving-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(soak->folder))
                fail(soak->folder, strerror(errno));
        setenv("XDG_RUNTIME_DIR", soak->folder, 1);
        snprintf(path, sizeof path, "%s/board", soak->folder);
        soak->board = board_map(path);
        machine_spec_init(&spec);
        spec.gpu_memory_bytes = GPU_MIB * MIB;
        spec.context_bytes = 0;
        spec.kernels = &kernel;
        spec.kernel_count = 1;
        snprintf(soak->machine_path, sizeof soak->machine_path, "%s/machine", soak->folder);
        if (machine_create(soak->machine_path, &spec, &e) < 0 ||
            machine_open(soak->machine_path, &soak->machine, &e) < 0)
                fail(soak->machine_path, e.text);
}

static _Noreturn void process_exec(const struct soak *soak, unsigned index, unsigned seed)
{
        const unsigned share = index / 2;
        char board[96], number[8], seed_text[16];

        snprintf(board, sizeof board, "%s/board", soak->folder);
        snprintf(number, sizeof number, "%u", index);
        snprintf(seed_text, sizeof seed_text, "%u", seed);
        const char *words[24] = { "vgpu",      "run",
                                  "--machine", soak->machine_path,
                                  "--name",    shares[share].name,
                                  "--memory",  shares[share].memory };
        const char *const tail[] = { "--", soak->self, "--process", board, number, seed_text };
        unsigned count = 8;
        for (unsigned i = 0; i < 4 && shares[share].more[i]; i++)
                words[count++] = shares[share].more[i];
        memcpy(&words[count], tail, sizeof tail);
        execv(soak->vgpu, (char *const *)words);
        _exit(127);
}

static void process_start(struct soak *soak, unsigned index)
{
        const unsigned seed = (unsigned)rand_r(&soak->seed);

        fflush(NULL);
        soak->continue_ns[index] = 0;
        soak->pids[index] = fork();
        if (soak->pids[index] == 0)
                process_exec(soak, index, seed);
}

static void process_kill(struct soak *soak, unsigned index)
{
        int status = 0;

        kill(soak->pids[index], SIGKILL);
        waitpid(soak->pids[index], &status, 0);
        soak->ended += !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
}

/* What each container has on the GPU: of the dead what the driver still has. One look, under the GPU's own lock. */
static void memory_sample(struct soak *soak, uint64_t ret_bytes[MOVING_SHARES], uint64_t *ret_used)
{
        struct machine_unit *unit = machine_unit(&soak->machine, 0);
        const uint32_t high = atomic_load(&soak->machine.file->header.slots_high);

        memset(ret_bytes, 0, MOVING_SHARES * sizeof *ret_bytes);
        machine_lock(&unit->memory_lock);
        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot *slot = &soak->machine.file->slots[i];
                const struct machine_slot_unit *held = &slot->units[0];

                if (slot_is_gone(&soak->machine, i))
                        continue;
                for (unsigned j = 0; j < MOVING_PROCESSES; j++)
                        if (slot->pid == soak->pids[j])
                                ret_bytes[j / 2] += held->device_bytes + held->managed_bytes -
                                                    held->context_bytes;
        }
        *ret_used = unit->used_bytes;
        machine_unlock(&unit->memory_lock);
}

static void sample_take(struct soak *soak)
{
        uint64_t bytes[MOVING_SHARES], used;

        memory_sample(soak, bytes, &used);
        soak->samples++;
        soak->over += used > GPU_MIB * MIB;
        for (unsigned i = 0; i < MOVING_SHARES; i++) {
                soak->beyond[i] += bytes[i] > shares[i].physical_mib * MIB;
                if (bytes[i] / MIB > soak->most_mib[i])
                        soak->most_mib[i] = bytes[i] / MIB;
        }
}

/* Looks all the time; those that were stopped go on when their time has come. */
static void samples_take(struct soak *soak, uint64_t span_ns)
{
        const uint64_t end_ns = clock_now_ns() + span_ns;

        for (uint64_t now_ns = 0; now_ns < end_ns; now_ns = clock_now_ns()) {
                sample_take(soak);
                for (unsigned i = 0; i < MOVING_PROCESSES; i++)
                        if (soak->continue_ns[i] && now_ns >= soak->continue_ns[i]) {
                                kill(soak->pids[i], SIGCONT);
                                soak->continue_ns[i] = 0;
                        }
                sleep_ns(SAMPLE_NS);
        }
}

static void hurt(struct soak *soak)
{
        const unsigned index = chance(soak, MOVING_PROCESSES);

        if (soak->continue_ns[index] || chance(soak, 3)) {
                process_kill(soak, index);
                process_start(soak, index);
                soak->killed++;
                return;
        }
        kill(soak->pids[index], SIGSTOP);
        soak->continue_ns[index] = clock_now_ns() + (1 + chance(soak, STOPPED_MS)) * NS_PER_MS;
        soak->stopped++;
}

static bool has_worked(const struct soak *soak, const uint64_t work[MOVING_PROCESSES])
{
        for (unsigned i = 0; i < MOVING_PROCESSES; i++)
                if (atomic_load(&soak->board->processes[i].work) < work[i] + 2)
                        return false;
        return true;
}

static void all_work_again(struct soak *soak)
{
        const uint64_t end_ns = clock_now_ns() + PATIENCE_S * NS_PER_S;
        uint64_t work[MOVING_PROCESSES];

        samples_take(soak, STOPPED_MS * NS_PER_MS);
        for (unsigned i = 0; i < MOVING_PROCESSES; i++)
                work[i] = atomic_load(&soak->board->processes[i].work);
        while (!has_worked(soak, work) && clock_now_ns() < end_ns)
                samples_take(soak, 10 * NS_PER_MS);
        soak->idle += !has_worked(soak, work);
}

/* The container is charged for what its two processes hold, and for nothing else. */
static bool is_charged_for_the_dead(const struct soak *soak, unsigned share)
{
        static struct region region;
        char path[160];
        uint64_t held = 0;

        snprintf(path, sizeof path, "%s/vgpu/%s/region", soak->folder, shares[share].name);
        if (region_view_open(path, &region, NULL) < 0)
                return true;
        const uint64_t used =
                region_used_bytes(&region, 0) + region_used_bytes(&region, region_virtual(0));
        for (uint32_t i = 1; i <= region.file->slots_high; i++)
                if (region_slot_is_alive(&region, i))
                        held += region_held_bytes(&region, i, 0) +
                                region_held_bytes(&region, i, region_virtual(0));
        region_view_close(&region);
        return used > held || used > shares[share].whole_mib * MIB;
}

/* They allocate and free meanwhile, and look for the dead with every pass: a look that finds all well is enough. */
static void charges_check(struct soak *soak)
{
        const uint64_t end_ns = clock_now_ns() + PATIENCE_S * NS_PER_S;

        for (unsigned i = 0; i < MOVING_SHARES; i++) {
                while (is_charged_for_the_dead(soak, i) && clock_now_ns() < end_ns)
                        samples_take(soak, NS_PER_MS);
                soak->charged += is_charged_for_the_dead(soak, i) && clock_now_ns() >= end_ns;
        }
}

static void hurts_do(struct soak *soak, unsigned count)
{
        for (unsigned i = 0; i < MOVING_PROCESSES; i++)
                process_start(soak, i);
        all_work_again(soak);
        for (unsigned i = 1; i <= count; i++) {
                hurt(soak);
                /* At once after another, and when memory has moved. */
                samples_take(soak,
                             chance(soak, chance(soak, 2) ? PAUSE_MS : LONG_PAUSE_MS) * NS_PER_MS);
                if (i % CHECK_EVERY == 0 || i == count) {
                        all_work_again(soak);
                        charges_check(soak);
                }
                if (soak->idle || soak->charged)
                        return;
        }
}

static uint64_t sum_of(const struct soak *soak, bool is_lost)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < MOVING_PROCESSES; i++)
                sum += is_lost ? soak->board->processes[i].lost : soak->board->processes[i].wrong;
        return sum;
}

static void report(struct soak *soak)
{
        struct unit_memory memory;

        for (unsigned i = 0; i < MOVING_SHARES; i++)
                say(soak->beyond[i] == 0 && soak->most_mib[i] > 0,
                    "'%s' never had more than %u MiB on the GPU (%" PRIu64 " in %" PRIu64
                    " looks, %" PRIu64 " beyond)",
                    shares[i].name, shares[i].physical_mib, soak->most_mib[i], soak->samples,
                    soak->beyond[i]);
        say(soak->over == 0, "nor the GPU more than it has");
        say(sum_of(soak, true) == 0, "what they wrote is there (%" PRIu64 " blocks lost it)",
            sum_of(soak, true));
        say(sum_of(soak, false) == 0 && soak->ended == 0,
            "no other answers (%" PRIu64 "), none ended by itself (%u)", sum_of(soak, false),
            soak->ended);
        for (unsigned i = 0; i < MOVING_PROCESSES; i++)
                printf("# '%s' did %" PRIu64 " passes\n", shares[i / 2].name,
                       (uint64_t)soak->board->processes[i].work);
        say(soak->idle == 0, "after %u kills and %u stops all work again", soak->killed,
            soak->stopped);
        say(soak->charged == 0, "and nobody is charged for the dead");
        for (unsigned i = 0; i < MOVING_PROCESSES; i++)
                process_kill(soak, i);
        slot_reap(&soak->machine);
        unit_memory(&soak->machine, 0, &memory);
        say(memory.used_bytes == 0, "with all of them dead nothing is on the GPU (%" PRIu64 ")",
            memory.used_bytes);
}

static void soak_close(struct soak *soak)
{
        char path[96];

        machine_close(&soak->machine);
        unlink(soak->machine_path);
        snprintf(path, sizeof path, "%s/board", soak->folder);
        unlink(path);
        for (unsigned i = 0; i < 100 && rmdir(soak->folder) < 0; i++)
                sleep_ns(50 * NS_PER_MS); /* the watchers clean up */
}

static int process_main(char **words)
{
        const unsigned index = (unsigned)atoi(words[1]) % MOVING_PROCESSES;

        return moving_work(board_map(words[0]), index, shares[index / 2].kind,
                           shares[index / 2].blocks, (unsigned)atoi(words[2]));
}

int main(int argc, char **argv)
{
        static struct soak soak;
        char self[256];
        const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

        if (argc == 5 && strcmp(argv[1], "--process") == 0)
                return process_main(argv + 2);
        const bool is_tap = argc > 1 && strcmp(argv[1], "--tap") == 0;
        char **words = argv + 1 + is_tap;

        if (argc - is_tap < 3 || length < 0) {
                fputs("Usage: moving [--tap] VGPU HURTS [SEED]\n", stderr);
                return 2;
        }
        self[length] = '\0';
        soak.self = self;
        soak.vgpu = words[0];
        soak.seed = argc - is_tap > 3 ? (unsigned)atoi(words[2]) : (unsigned)time(NULL);
        printf("# seed %u\n", soak.seed);
        say_open();
        soak_open(&soak);
        hurts_do(&soak, (unsigned)atoi(words[1]));
        report(&soak);
        soak_close(&soak);
        return say_close(is_tap);
}
