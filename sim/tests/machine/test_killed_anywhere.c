/* SPDX-License-Identifier: Apache-2.0 */
/* A process killed at any instruction leaves no memory, time or lock behind: a child is stepped
 * instruction by instruction, killed at the k-th, for every k; the machine must be as if it had done
 * all of its last step or none. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine_fixture.h"
#include "timeline_internal.h"
#include "unit.h"
#include "unit_memory.h"

#define MS UINT64_C(1000000)

typedef void (*deed)(struct machine *machine);

/* Runs the deed in a child and kills it after `steps` instructions. False: it was done before. */
static bool child_kill_after(struct machine *machine, deed act, unsigned long steps)
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                raise(SIGSTOP);
                act(machine);
                _exit(0);
        }
        waitpid(pid, &status, 0);
        for (unsigned long i = 0; i < steps; i++) {
                ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
                waitpid(pid, &status, 0);
                if (WIFEXITED(status))
                        return false;
        }
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return true;
}

static bool can_trace(void)
{
        pid_t pid = fork();
        int status;

        if (pid == 0)
                _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
        waitpid(pid, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static unsigned long stride(void)
{
        const char *text = getenv("VGPU_KILL_STRIDE");

        return text && atoi(text) > 0 ? (unsigned long)atoi(text) : 211;
}

static void clock_move(struct machine *machine)
{
        fixture_move(machine, 7 * MS);
}

TEST(a_clock_moved_by_the_killed_loses_no_time)
{
        unsigned long kills = 0;

        if (!can_trace())
                skip();
        for (unsigned long k = 1;; k += stride()) {
                struct machine machine;
                struct tenant a, b;
                fixture_open(&machine, 0, 1);
                fixture_attach(&machine, &a);
                fixture_attach(&machine, &b);
                machine_ref last = 0;
                for (unsigned i = 0; i < 3; i++) {
                        fixture_submit(&a, ENGINE_COMPUTE, 3 * MS, 0);
                        last = fixture_submit(&b, ENGINE_COMPUTE, 1 * MS, 0);
                }
                bool was_killed = child_kill_after(&machine, clock_move, k);
                fixture_move(&machine, 40 * MS);
                struct machine_unit *unit = machine_unit(&machine, 0);
                CHECK_EQ(unit->engines[ENGINE_COMPUTE].busy_ns, 12 * MS);
                CHECK_EQ(machine.file->channels[a.channel].busy_ns[ENGINE_COMPUTE], 9 * MS);
                CHECK_EQ(machine.file->channels[b.channel].busy_ns[ENGINE_COMPUTE], 3 * MS);
                /* Time slices of 2 ms: a a b a a b a … ; b's last millisecond ends as if nobody died. */
                CHECK_EQ(timeline_end_ns(&machine, last), 7 * MS + 1);
                fixture_kill(&a);
                fixture_kill(&b);
                machine_close(&machine);
                if (!was_killed)
                        break;
                kills++;
        }
        print_message("# %lu kills\n", kills);
        CHECK(kills >= 10);
}

static void attach_and_take(struct machine *machine)
{
        struct machine_slot *slot;
        uint32_t channel;
        machine_ref ref;
        struct timeline_op op = { .engine = ENGINE_COMPUTE, .duration_ns = 500 * MS };

        if (slot_attach(machine, &slot) < 0 || timeline_channel(machine, slot, 0, &channel) < 0)
                _exit(1);
        unit_charge_context(machine, 0, slot, GRANULE);
        unit_charge(machine, 0, slot, 3 * GRANULE);
        timeline_submit(machine, channel, &op, &ref);
        unit_managed_in(machine, 0, slot, GRANULE);
        unit_release(machine, 0, slot, GRANULE);
        unit_charge(machine, 0, slot, 4 * GRANULE);
}

TEST(memory_and_work_of_the_killed_are_gone)
{
        unsigned long kills = 0;
        struct machine machine;
        struct tenant a;

        if (!can_trace())
                skip();
        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        CHECK_EQ(unit_managed_in(&machine, 0, a.slot, GRANULE), GRANULE);
        for (unsigned long k = 1; child_kill_after(&machine, attach_and_take, k); k += stride()) {
                struct unit_memory memory;
                slot_reap(&machine);
                unit_memory(&machine, 0, &memory);
                CHECK_EQ(memory.used_bytes, a.slot->units[0].managed_bytes);
                CHECK_EQ(unit_charge(&machine, 0, a.slot, 9 * GRANULE), 0);
                unit_release(&machine, 0, a.slot, 9 * GRANULE);
                fixture_move(&machine, machine_unit(&machine, 0)->clock_ns + 1 * MS);
                CHECK(machine.file->header.slots_high <= 2);
                kills++;
        }
        slot_reap(&machine);
        CHECK_EQ(machine.file->header.slots_high, 2);
        print_message("# %lu kills\n", kills);
        CHECK(kills >= 10);
        fixture_kill(&a);
        machine_close(&machine);
}

int main(void)
{
        return RUN(CASE(a_clock_moved_by_the_killed_loses_no_time),
                   CASE(memory_and_work_of_the_killed_are_gone));
}
