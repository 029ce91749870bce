/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the machine's events, faults and lost GPUs, between processes. */
#include "event.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "sim.h"

static const uint64_t all[MACHINE_GPUS] = { [0 ... MACHINE_GPUS - 1] = UINT64_MAX };

SIM_TEST(a_reader_that_sleeps_too_long_loses_the_oldest)
{
        sim_machine("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        struct machine_event event;
        uint64_t cursor = 0;

        for (unsigned i = 0; i < MACHINE_EVENTS + 10; i++)
                event_post(machine, 0, 8, i);
        CHECK_EQ(event_wait(machine, all, &cursor, 0, &event), 0);
        CHECK_EQ(event.detail, 10);
        for (unsigned i = 11; i < MACHINE_EVENTS + 10; i++)
                CHECK_EQ(event_wait(machine, all, &cursor, 0, &event), 0);
        CHECK_EQ(event_wait(machine, all, &cursor, 0, &event), -ETIMEDOUT);
}

SIM_TEST(waiting_ends_in_time_without_an_event)
{
        sim_machine("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        struct machine_event event;
        uint64_t cursor = 0, start = clock_now_ns();

        CHECK_EQ(event_wait(machine, all, &cursor, 60, &event), -ETIMEDOUT);
        uint64_t waited = clock_now_ns() - start;
        CHECK(waited >= 60 * NS_PER_MS && waited < 1000 * NS_PER_MS);
}

static _Noreturn void post_and_die(void)
{
        struct machine *machine = sim_machine_open();

        for (uint64_t i = 0;; i++)
                event_post(machine, 0, 8, i);
}

/* Whoever dies while posting leaves neither a lock nor half an event. */
SIM_TEST(posters_that_are_killed_leave_the_ring_usable)
{
        sim_machine("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        struct machine_event event;

        for (unsigned i = 0; i < 50; i++) {
                pid_t child = fork();
                if (child == 0)
                        post_and_die();
                usleep(1000 + i * 50);
                kill(child, SIGKILL);
                waitpid(child, NULL, 0);
                uint64_t cursor = atomic_load(&machine->file->header.events_next);
                event_post(machine, 0, 8, 1000000 + i);
                CHECK_EQ(event_wait(machine, all, &cursor, 1000, &event), 0);
                CHECK_EQ(event.detail, 1000000 + i);
        }
}

SIM_TEST(a_fault_strikes_its_function_so_often_and_then_no_more)
{
        sim_machine("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        _Atomic uint32_t *attention = &machine->file->header.attention;
        int32_t result = 0;

        CHECK_EQ(atomic_load(attention), 0);
        CHECK_EQ(fault_fail(machine, "cuMemAlloc_v2", 2, 2), 0);
        CHECK(atomic_load(attention) != 0);
        CHECK(!fault_strikes(machine, "cuMemFree_v2", &result));
        CHECK(fault_strikes(machine, "cuMemAlloc_v2", &result));
        CHECK_EQ(result, 2);
        CHECK(fault_strikes(machine, "cuMemAlloc_v2", &result));
        CHECK(!fault_strikes(machine, "cuMemAlloc_v2", &result));
        CHECK_EQ(atomic_load(attention), 0);
        CHECK_EQ(fault_fail(machine, "*", 999, UINT32_MAX), 0);
        for (unsigned i = 0; i < 100; i++)
                CHECK(fault_strikes(machine, "anything", &result));
        fault_clear(machine);
        CHECK(!fault_strikes(machine, "anything", &result));
        CHECK_EQ(atomic_load(attention), 0);
}

SIM_TEST(faults_are_checked_when_they_are_made)
{
        sim_machine("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        char name[200];

        memset(name, 'x', sizeof name);
        name[sizeof name - 1] = '\0';
        CHECK_EQ(fault_fail(machine, "", 1, 1), -EINVAL);
        CHECK_EQ(fault_fail(machine, name, 1, 1), -EINVAL);
        CHECK_EQ(fault_fail(machine, "cuInit", 1, 0), -EINVAL);
        for (unsigned i = 0; i < MACHINE_FAULTS; i++) {
                snprintf(name, sizeof name, "f%u", i);
                CHECK_EQ(fault_fail(machine, name, 1, 1), 0);
        }
        CHECK_EQ(fault_fail(machine, "f0", 2, 5), 0);
        CHECK_EQ(fault_fail(machine, "one too many", 1, 1), -ENOSPC);
}

static int hang(void)
{
        int32_t result;

        return fault_strikes(sim_machine_open(), "cuInit", &result) ? 1 : 0;
}

SIM_TEST(a_hang_lasts_until_it_is_cleared)
{
        sim_machine("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        int status;

        CHECK_EQ(fault_hang(machine, "cuInit"), 0);
        pid_t child = fork();
        if (child == 0)
                _exit(hang());
        usleep(100000);
        CHECK_EQ(waitpid(child, &status, WNOHANG), 0);
        fault_clear(machine);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

SIM_TEST(losing_a_gpu_is_seen_and_undone)
{
        sim_machine("a100-40gb", 2);
        struct machine *machine = sim_machine_open();
        struct machine_event event;
        uint64_t cursor = 0;

        gpu_lose(machine, 1);
        CHECK(atomic_load(&machine->file->header.attention) != 0);
        CHECK(!atomic_load(&machine_gpu(machine, 0)->is_lost));
        CHECK(atomic_load(&machine_gpu(machine, 1)->is_lost));
        CHECK_EQ(event_wait(machine, all, &cursor, 0, &event), 0);
        CHECK_EQ(event.gpu, 1);
        CHECK_EQ(event.detail, 79);
        fault_clear(machine);
        CHECK(atomic_load(&machine->file->header.attention) != 0);
        gpu_restore(machine, 1);
        CHECK_EQ(atomic_load(&machine->file->header.attention), 0);
}

int main(void)
{
        return RUN(CASE(a_reader_that_sleeps_too_long_loses_the_oldest),
                   CASE(waiting_ends_in_time_without_an_event),
                   CASE(posters_that_are_killed_leave_the_ring_usable),
                   CASE(a_fault_strikes_its_function_so_often_and_then_no_more),
                   CASE(faults_are_checked_when_they_are_made),
                   CASE(a_hang_lasts_until_it_is_cleared), CASE(losing_a_gpu_is_seen_and_undone));
}
