/* step [--tap] [KILLS]: kills a process after every single instruction of what it does to a machine.
 *
 * The process is traced: it runs freely up to an operation, then one instruction at a time, and is
 * killed there. Operations of more than KILLS instructions (default 200) are sampled evenly, always
 * with another offset. After each death the machine must be whole. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "event.h"
#include "machine.h"
#include "slot.h"
#include "timeline.h"
#include "unit.h"

enum { HANG_S = 20, STEPS_MOST = 2000000, BYTES = 64 << 20 };

struct actor {
        struct machine machine;
        struct machine_slot *slot;
        uint32_t channel;
        machine_ref ref;
};

static void act_attach(struct actor *actor)
{
        slot_attach(&actor->machine, &actor->slot);
}

static void act_charge(struct actor *actor)
{
        unit_charge(&actor->machine, 0, actor->slot, BYTES);
}

static void act_charge_context(struct actor *actor)
{
        unit_charge_context(&actor->machine, 0, actor->slot, BYTES);
}

static void act_managed_in(struct actor *actor)
{
        unit_managed_in(&actor->machine, 0, actor->slot, BYTES);
}

static void act_channel(struct actor *actor)
{
        timeline_channel(&actor->machine, actor->slot, 0, &actor->channel);
}

static void act_submit(struct actor *actor)
{
        const struct timeline_op op = { .engine = ENGINE_COMPUTE, .duration_ns = 1000 };

        timeline_submit(&actor->machine, actor->channel, &op, &actor->ref);
}

static void act_wait(struct actor *actor)
{
        usleep(100);
        timeline_wait(&actor->machine, actor->ref);
}

static void act_event(struct actor *actor)
{
        event_post(&actor->machine, 0, 8, 13);
}

static void act_release(struct actor *actor)
{
        unit_release_context(&actor->machine, 0, actor->slot, BYTES);
        unit_managed_out(&actor->machine, 0, actor->slot, BYTES);
        unit_release(&actor->machine, 0, actor->slot, BYTES);
}

/* Another process died before: the heir dies too. */
static void act_reap(struct actor *actor)
{
        slot_reap(&actor->machine);
}

static void act_detach(struct actor *actor)
{
        slot_detach(&actor->machine, actor->slot);
}

static const struct {
        const char *name;
        void (*run)(struct actor *actor);
} acts[] = {
        { "attach", act_attach },
        { "charge memory", act_charge },
        { "charge a context", act_charge_context },
        { "bring managed memory in", act_managed_in },
        { "take a queue", act_channel },
        { "submit work", act_submit },
        { "submit more", act_submit },
        { "wait for work", act_wait },
        { "post an event", act_event },
        { "reap the dead", act_reap },
        { "release memory", act_release },
        { "detach", act_detach },
};
enum { ACTS = sizeof acts / sizeof acts[0] };

/* Dies with memory, a queue and work in its name. */
static void leave_a_corpse(const char *path)
{
        const pid_t child = fork();

        if (child == 0) {
                struct actor actor = { 0 };

                if (machine_open(path, &actor.machine, NULL) < 0)
                        _exit(1);
                for (int i = 0; i < 6; i++)
                        acts[i].run(&actor);
                kill(getpid(), SIGKILL);
        }
        waitpid(child, NULL, 0);
}

/* Stops before `act`, then goes on. */
static _Noreturn void actor_run(const char *path, int act)
{
        struct actor actor = { 0 };

        if (machine_open(path, &actor.machine, NULL) < 0)
                _exit(1);
        for (int i = 0; i < act; i++)
                acts[i].run(&actor);
        if (acts[act].run == act_reap)
                leave_a_corpse(path);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                _exit(77);
        raise(SIGSTOP);
        acts[act].run(&actor);
        raise(SIGSTOP);
        _exit(0);
}

/* Lets it take `steps` instructions into the act and kills it. Returns how many it took: fewer when
 * the act was over before. -1: it cannot be traced. */
static long step_and_kill(const char *path, int act, long steps)
{
        const pid_t child = fork();
        bool is_inside = true;
        int status = 0;
        long taken = 0;

        if (child == 0)
                actor_run(path, act);
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status))
                return -1;
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

/* NULL when the machine is whole, else what is wrong. */
static const char *find_damage(struct machine *machine)
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
        if (slot_attach(machine, &slot) < 0)
                return "nobody can attach";
        r = unit_charge(machine, 0, slot, memory.total_bytes);
        slot_detach(machine, slot);
        return r < 0 ? "not all memory can be had" : NULL;
}

/* All instructions of the act, or KILLS of them. Returns the number of deaths; -1: there was damage;
 * -2: processes cannot be traced here. */
static long act_try(struct machine *machine, const char *path, int act, long kills)
{
        long length = step_and_kill(path, act, STEPS_MOST);
        long stride, deaths = 0;

        if (length < 0)
                return -2;
        find_damage(machine);
        printf("# '%s' takes %ld instructions\n", acts[act].name, length);
        stride = length > kills ? length / kills : 1;
        for (long steps = stride > 1 ? random() % stride : 0; steps <= length; steps += stride) {
                const char *damage;

                step_and_kill(path, act, steps);
                deaths++;
                alarm(HANG_S);
                damage = find_damage(machine);
                alarm(0);
                if (damage) {
                        printf("# killed at instruction %ld of %ld of '%s': %s\n", steps, length,
                               acts[act].name, damage);
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
static long act_on_new_machine(int act, long kills)
{
        struct machine_spec spec;
        struct machine machine;
        struct err e = { 0 };
        char path[64];
        long deaths;

        machine_spec_init(&spec);
        snprintf(path, sizeof path, "/tmp/vgpu-step-%d", (int)getpid());
        if (machine_create(path, &spec, &e) < 0 || machine_open(path, &machine, &e) < 0) {
                printf("# %s\n", e.text);
                return -1;
        }
        deaths = act_try(&machine, path, act, kills);
        machine_close(&machine);
        unlink(path);
        return deaths;
}

int main(int argc, char **argv)
{
        const bool is_tap = argc > 1 && strcmp(argv[1], "--tap") == 0;
        const char *word = argv[1 + is_tap];
        const long kills = word ? strtol(word, NULL, 10) : 200;
        unsigned failed = 0, skipped = 0;

        signal(SIGALRM, on_alarm);
        srandom((unsigned)time(NULL));
        for (int act = 0; act < ACTS; act++) {
                const long deaths = act_on_new_machine(act, kills > 0 ? kills : 1);

                failed += deaths == -1;
                skipped += deaths == -2;
                if (deaths == -2)
                        printf("ok %d - %s # SKIP processes cannot be traced here\n", act + 1,
                               acts[act].name);
                else if (deaths == -1)
                        printf("not ok %d - %s\n", act + 1, acts[act].name);
                else
                        printf("ok %d - %s: whole after %ld deaths in it\n", act + 1,
                               acts[act].name, deaths);
                fflush(stdout);
        }
        if (is_tap)
                printf("1..%d\n", ACTS);
        else
                printf("%u passed, %u failed, %u skipped\n", ACTS - failed - skipped, failed,
                       skipped);
        return failed > 0;
}
