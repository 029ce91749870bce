/* SPDX-License-Identifier: Apache-2.0 */
/* step [--tap] [KILLS [moving]]: kills a process after every single instruction of what it does to a machine; `moving`:
 * of what it does, with libvgpu.so preloaded, while its memory moves.
 *
 * The process is traced: it runs freely up to an act, then one instruction at a time, and is killed
 * there. Acts of more than KILLS instructions (default 200) are sampled evenly, always with another
 * offset. After each death the machine must be whole. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "export.h"
#include "slot.h"
#include "step_acts.h"
#include "unit_memory.h"

enum { HANG_S = 20, STEPS_MOST = 100000, CORPSE_ACTS = 6, UNTRACED = 77 };

/* Dies with memory, a queue and work in its name. */
static void leave_a_corpse(const struct play *play)
{
        const pid_t child = fork();

        if (child == 0) {
                struct actor actor = { 0 };

                play->open(&actor);
                for (int i = 0; i < CORPSE_ACTS; i++)
                        play->acts[i].run(&actor);
                kill(getpid(), SIGKILL);
        }
        waitpid(child, NULL, 0);
}

/* Stops before `act` and after it. */
static _Noreturn void actor_run(const struct play *play, int act)
{
        struct actor actor = { 0 };

        play->open(&actor);
        for (int i = 0; i < act; i++)
                play->acts[i].run(&actor);
        if (play->acts[act].needs_corpse)
                leave_a_corpse(play);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                _exit(UNTRACED);
        raise(SIGSTOP);
        play->acts[act].run(&actor);
        raise(SIGSTOP);
        _exit(0);
}

/* Lets it take `steps` instructions into the act and kills it. Returns how many it took: fewer when
 * the act was over before. -1: it failed before the act; -2: it cannot be traced. */
static long step_and_kill(const struct play *play, int act, long steps)
{
        const pid_t child = fork();
        bool is_inside = true;
        int status = 0;
        long taken = 0;

        if (child == 0)
                actor_run(play, act);
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status))
                return WIFEXITED(status) && WEXITSTATUS(status) == UNTRACED ? -2 : -1;
        while (taken < steps && is_inside) {
                if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0)
                        break;
                waitpid(child, &status, 0);
                is_inside = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
                taken += is_inside;
        }
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return taken;
}

static bool has_files(struct machine *machine)
{
        char path[EXPORT_PATH_BYTES];
        DIR *folder = opendir("/dev/shm");
        bool is_found = false;
        struct dirent *entry;
        char *name;

        export_path(machine, 0, path);
        name = strrchr(path, '/') + 1;
        while (folder && (entry = readdir(folder)))
                is_found |= strncmp(entry->d_name, name, strlen(name) - 1) == 0;
        if (folder)
                closedir(folder);
        return is_found;
}

/* NULL when the machine is whole, else what is wrong. */
static const char *machine_damage(struct machine *machine)
{
        const uint32_t high = atomic_load(&machine->file->header.slots_high);
        const uint32_t channels = atomic_load(&machine->file->header.channels_high);
        struct unit_memory memory;
        struct machine_slot *slot;
        int r;

        machine_lock(&machine->file->header.lock);
        machine_unlock(&machine->file->header.lock);
        timeline_advance(machine, 0);
        slot_reap(machine);
        unit_memory(machine, 0, &memory);
        if (memory.used_bytes != 0)
                return "memory is still taken";
        for (uint32_t i = 0; i < high; i++)
                if (atomic_load(&machine->file->slots[i].state) == SLOT_LIVE)
                        return "a slot is still live";
        for (uint32_t i = 0; i < channels; i++)
                if (atomic_load(&machine->file->channels[i].slot) != 0)
                        return "a queue is still taken";
        if (has_files(machine))
                return "a file is left in shared memory";
        if (slot_attach(machine, &slot) < 0)
                return "nobody can attach";
        r = unit_charge(machine, 0, slot, memory.total_bytes);
        slot_detach(machine, slot);
        return r < 0 ? "not all memory can be had" : NULL;
}

static const char *find_damage(struct machine *machine, const struct play *play)
{
        const char *damage = machine_damage(machine);

        return !damage && play->find_damage ? play->find_damage() : damage;
}

/* All instructions of the act, or KILLS of them. Returns the number of deaths; -1: there was damage;
 * -2: processes cannot be traced here. */
static long act_try(struct machine *machine, const struct play *play, int act, long kills)
{
        long length = step_and_kill(play, act, STEPS_MOST);
        long stride, deaths = 0;

        if (length < 0) {
                printf("# '%s' was not reached\n", play->acts[act].name);
                return length;
        }
        find_damage(machine, play);
        printf("# '%s' takes %ld instructions\n", play->acts[act].name, length);
        stride = length > kills ? length / kills : 1;
        for (long steps = stride > 1 ? random() % stride : 0; steps <= length; steps += stride) {
                const char *damage;

                step_and_kill(play, act, steps);
                deaths++;
                alarm(HANG_S);
                damage = find_damage(machine, play);
                alarm(0);
                if (damage) {
                        printf("# killed at instruction %ld of %ld of '%s': %s\n", steps, length,
                               play->acts[act].name, damage);
                        return -1;
                }
        }
        return deaths;
}

static void on_alarm(int number)
{
        static const char text[] = "not ok - a lock is stuck for ever\n";

        (void)number;
        (void)!write(STDOUT_FILENO, text, sizeof text - 1);
        _exit(1);
}

/* Each act has a machine of its own: what one breaks must not be counted twice. */
static long act_on_new_machine(const struct play *play, int act, long kills)
{
        const struct machine_kernel_time kernel = { .name = "step_timed", .microseconds = 5 };
        struct machine_spec spec;
        struct machine machine;
        struct err e = { 0 };
        char path[64];
        long deaths;

        machine_spec_init(&spec);
        spec.kernels = &kernel;
        spec.kernel_count = 1;
        snprintf(path, sizeof path, "/tmp/vgpu-step-%d", (int)getpid());
        setenv("VGPU_SIM", path, 1);
        if (machine_create(path, &spec, &e) < 0 || machine_open(path, &machine, &e) < 0 ||
            (play->prepare && play->prepare(&machine, &e) < 0)) {
                printf("# %s\n", e.text);
                return -1;
        }
        deaths = act_try(&machine, play, act, kills);
        if (play->clean)
                play->clean();
        machine_close(&machine);
        unlink(path);
        return deaths;
}

struct tally {
        unsigned said, failed, skipped;
};

static void play_run(const struct play *play, long kills, struct tally *tally)
{
        for (int act = 0; act < play->act_count; act++) {
                const long deaths = act_on_new_machine(play, act, kills > 0 ? kills : 1);

                tally->failed += deaths == -1;
                tally->skipped += deaths == -2;
                printf("%s %u - %s: %s", deaths == -1 ? "not ok" : "ok", ++tally->said, play->name,
                       play->acts[act].name);
                if (deaths == -2)
                        printf(" # SKIP processes cannot be traced here\n");
                else if (deaths == -1)
                        printf("\n");
                else
                        printf(", whole after %ld deaths in it\n", deaths);
                fflush(stdout);
        }
}

int main(int argc, char **argv)
{
        const bool is_tap = argc > 1 && strcmp(argv[1], "--tap") == 0;
        const char *word = argv[1 + is_tap];
        const long kills = word ? strtol(word, NULL, 10) : 200;
        struct tally tally = { 0 };

        signal(SIGALRM, on_alarm);
        srandom((unsigned)time(NULL));
        if (word && argv[2 + is_tap] && strcmp(argv[2 + is_tap], "moving") == 0)
                play_run(&play_moving, kills, &tally);
        else
                for (int i = 0; i < PLAYS; i++)
                        play_run(&plays[i], kills, &tally);
        if (is_tap)
                printf("1..%u\n", tally.said);
        else
                printf("%u passed, %u failed, %u skipped\n",
                       tally.said - tally.failed - tally.skipped, tally.failed, tally.skipped);
        return tally.failed > 0;
}
