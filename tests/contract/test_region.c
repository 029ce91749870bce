/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the region: exact between processes, however they die. */
#include "region_check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static void open_fresh(struct region *region)
{
        static unsigned number;
        char path[64];
        struct err e = { 0 };

        snprintf(path, sizeof path, "/dev/shm/vgpu-test-region-%d-%u", getpid(), number++);
        unlink(path);
        assert_int_equal(region_open(path, 2, region, &e), 0);
        unlink(path);
        assert_int_equal(region_join(region), 0);
}

/* In a forked child: the same region, a slot of its own. */
static void rejoin(struct region *region)
{
        region->slot = 0;
        if (region_join(region) < 0)
                _exit(9);
}

TEST(a_charge_that_fits_is_taken_and_one_byte_more_is_refused)
{
        struct region region;

        open_fresh(&region);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 10 * MIB, 10 * MIB), 0);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 1, 10 * MIB), -ENOMEM);
        CHECK_EQ(region_used_bytes(&region, 0), 10 * MIB);
        CHECK_EQ(region_used_bytes(&region, 1), 0);
        region_refund(&region, 0, REGION_DEVICE, 10 * MIB);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, UINT64_MAX, UINT64_MAX), -ENOMEM);
        region_close(&region);
}

TEST(a_limit_below_what_is_held_refuses_and_takes_nothing_away)
{
        struct region region;

        open_fresh(&region);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 10 * MIB, 20 * MIB), 0);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 1, 5 * MIB), -ENOMEM);
        CHECK_EQ(region_used_bytes(&region, 0), 10 * MIB);
        region_close(&region);
}

TEST(a_device_and_its_virtual_memory_are_apart_and_both_are_left_empty)
{
        struct region region;

        open_fresh(&region);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 10 * MIB, 10 * MIB), 0);
        CHECK_EQ(region_charge(&region, region_virtual(0), REGION_DEVICE, 4 * MIB, 4 * MIB), 0);
        CHECK_EQ(region_charge(&region, region_virtual(0), REGION_DEVICE, 1, 4 * MIB), -ENOMEM);
        CHECK_EQ(region_used_bytes(&region, 0), 10 * MIB);
        CHECK_EQ(region_used_bytes(&region, region_virtual(0)), 4 * MIB);
        region_leave(&region);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        CHECK_EQ(region_used_bytes(&region, region_virtual(0)), 0);
        region_close(&region);
}

TEST(numbers_go_round_without_losing_count)
{
        struct region region;

        open_fresh(&region);
        for (unsigned i = 0; i < 3 << REGION_NUMBER_BITS; i++) {
                CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 512, MIB), 0);
                region_refund(&region, 0, REGION_DEVICE, 512);
        }
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        region_close(&region);
}

TEST(the_dead_are_reaped_and_the_living_are_not)
{
        struct region region;

        open_fresh(&region);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, MIB, 10 * MIB), 0);
        pid_t pid = fork();
        if (pid == 0) {
                rejoin(&region);
                region_charge(&region, 0, REGION_DEVICE, 3 * MIB, 10 * MIB);
                region_charge(&region, 1, REGION_DEVICE, 2 * MIB, 10 * MIB);
                region_charge(&region, region_virtual(1), REGION_DEVICE, 5 * MIB, 10 * MIB);
                raise(SIGKILL);
        }
        waitpid(pid, NULL, 0);
        CHECK_EQ(region_used_bytes(&region, 0), 4 * MIB);
        CHECK_EQ(region_used_bytes(&region, region_virtual(1)), 5 * MIB);
        CHECK_EQ(region_reap(&region), 1);
        CHECK_EQ(region_used_bytes(&region, 0), MIB);
        CHECK_EQ(region_used_bytes(&region, 1), 0);
        CHECK_EQ(region_used_bytes(&region, region_virtual(1)), 0);
        region_close(&region);
}

static struct {
        unsigned asked;
        bool holds;
        uint64_t kept_bytes;
} driver;

static void driver_ask(void)
{
        driver.asked++;
}

static bool driver_holds(const struct region *region, uint32_t slot)
{
        (void)region;
        (void)slot;
        return driver.holds;
}

static uint64_t driver_kept(const struct region *region, uint32_t slot, unsigned device)
{
        (void)region;
        (void)slot;
        return device == 0 ? driver.kept_bytes : 0;
}

static const struct region_driver fake_driver = { driver_ask, driver_holds, driver_kept };

static uint32_t die_with(struct region *region, uint64_t bytes)
{
        pid_t pid = fork();

        if (pid == 0) {
                rejoin(region);
                region_charge(region, 0, REGION_DEVICE, bytes, 10 * MIB);
                raise(SIGKILL);
        }
        waitpid(pid, NULL, 0);
        return region->file->slots_high;
}

TEST(what_the_dead_held_is_charged_until_the_driver_has_let_go_of_it)
{
        struct region region;

        open_fresh(&region);
        region.driver = &fake_driver;
        driver.asked = 0;
        driver.holds = true;
        CHECK_EQ(region_reap(&region), 0);
        CHECK_EQ(driver.asked, 0); /* nobody is dead */
        die_with(&region, 3 * MIB);
        CHECK_EQ(region_reap(&region), 0);
        CHECK_EQ(driver.asked, 1);
        CHECK_EQ(region.lingering, 1);
        CHECK_EQ(region_used_bytes(&region, 0), 3 * MIB);
        CHECK_EQ(region_dead_bytes(&region, 0), 3 * MIB);
        CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT);
        driver.holds = false;
        CHECK_EQ(region_reap(&region), 1);
        CHECK_EQ(region.lingering, 0);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        CHECK_EQ(region_dead_bytes(&region, 0), 0);
        region_close(&region);
}

TEST(what_others_hold_of_the_dead_stays_charged_until_they_let_go_of_it)
{
        struct region region;

        open_fresh(&region);
        region.driver = &fake_driver;
        driver.holds = false;
        driver.kept_bytes = 2 * MIB;
        const uint32_t slot = die_with(&region, 3 * MIB);
        for (unsigned i = 0; i < 3; i++) {
                CHECK_EQ(region_reap(&region), 0);
                CHECK_EQ(region_used_bytes(&region, 0), 2 * MIB);
                CHECK_EQ(region_held_bytes(&region, slot, 0), 2 * MIB);
                CHECK_EQ(region_dead_bytes(&region, 0), 0);
                CHECK(!region_slot_is_alive(&region, slot));
                CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT);
        }
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 9 * MIB, 10 * MIB), -ENOMEM);
        driver.kept_bytes = MIB;
        CHECK_EQ(region_reap(&region), 0);
        CHECK_EQ(region_used_bytes(&region, 0), MIB);
        driver.kept_bytes = 5 * MIB; /* never more than there was */
        CHECK_EQ(region_reap(&region), 0);
        CHECK_EQ(region_used_bytes(&region, 0), MIB);
        driver.kept_bytes = 0;
        CHECK_EQ(region_reap(&region), 1);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        CHECK_EQ(die_with(&region, MIB), slot); /* free for the next */
        region_close(&region);
}

static struct region reaper;

/* The slot of the dead is freed and taken again, and the next one dies in it, before this search goes on. */
static void driver_ask_slowly(void)
{
        CHECK_EQ(region_reap(&reaper), 1);
        die_with(&reaper, 5 * MIB);
}

TEST(who_dies_after_the_driver_was_asked_waits_for_the_next_search)
{
        static const struct region_driver slow_driver = { driver_ask_slowly, driver_holds, NULL };
        struct region region;

        open_fresh(&region);
        region.driver = &slow_driver;
        driver.holds = false; /* as of when it was asked */
        const uint32_t slot = die_with(&region, 3 * MIB);
        reaper = region;
        reaper.driver = NULL;
        assert_int_equal(region_join(&reaper), 0);
        CHECK_EQ(region_reap(&region), 0);
        CHECK_EQ(region_held_bytes(&region, slot, 0), 5 * MIB);
        CHECK_EQ(region_used_bytes(&region, 0), 5 * MIB);
        region.driver = &fake_driver;
        CHECK_EQ(region_reap(&region), 1);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        region_leave(&reaper);
        region_close(&region);
}

TEST(a_driver_that_never_lets_go_is_waited_for_so_long_and_no_longer)
{
        struct region region;

        open_fresh(&region);
        region.driver = &fake_driver;
        driver.holds = true;
        const uint32_t slot = die_with(&region, 3 * MIB);
        CHECK_EQ(region_reap(&region), 0);
        /* As if it had been found dead so long ago. */
        const uint64_t ago = (REGION_LINGER_MS / 16 + 1) << 8;
        region.file->slots[slot].state -= ago;
        CHECK_EQ(region_reap(&region), 1);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        region_close(&region);
}

/* 8 processes race to a limit of 100 units for a while; the sum never exceeds it. */
static void racer(struct region *region, unsigned seed)
{
        unsigned mine = 0;

        rejoin(region);
        for (unsigned i = 0; i < 60000; i++) {
                seed = seed * 1103515245 + 12345;
                if ((seed >> 16) % 2 &&
                    region_charge(region, 0, REGION_DEVICE, 512 * (1 + seed % 7), 51200) == 0) {
                        if (region_used_bytes(region, 0) > 51200)
                                _exit(1);
                        region_refund(region, 0, REGION_DEVICE, 512 * (1 + seed % 7));
                        mine++;
                }
        }
        _exit(mine ? 0 : 2);
}

TEST(racing_processes_never_pass_the_limit_and_lose_nothing)
{
        struct region region;
        int status;

        open_fresh(&region);
        for (unsigned i = 0; i < 8; i++)
                if (fork() == 0)
                        racer(&region, i + 1);
        for (unsigned i = 0; i < 8; i++) {
                wait(&status);
                CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        region_close(&region);
}

TEST(random_kills_in_a_race_lose_no_byte)
{
        struct region region;
        unsigned seed = 7;

        open_fresh(&region);
        for (unsigned round = 0; round < 60; round++) {
                pid_t pids[4];
                for (unsigned i = 0; i < 4; i++) {
                        pids[i] = fork();
                        if (pids[i] == 0)
                                racer(&region, round * 4 + i);
                }
                usleep(300 + (seed = seed * 1103515245 + 12345) % 3000);
                for (unsigned i = 0; i < 4; i++)
                        kill(pids[i], SIGKILL);
                for (unsigned i = 0; i < 4; i++)
                        waitpid(pids[i], NULL, 0);
                region_reap(&region);
                CHECK_EQ(region_used_bytes(&region, 0), 0);
        }
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 51200, 51200), 0);
        region_close(&region);
}

/* `make soak` takes every instruction; here every few do. */
static unsigned long stride(unsigned long usual)
{
        const char *text = getenv("VGPU_KILL_STRIDE");

        return text && atol(text) > 0 ? (unsigned long)atol(text) : usual;
}

typedef void (*deed)(struct region *region);

static bool kill_after(struct region *region, deed act, unsigned long steps)
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                rejoin(region);
                raise(SIGSTOP);
                act(region);
                _exit(0);
        }
        waitpid(pid, &status, 0);
        for (unsigned long i = 0; i < steps && !WIFEXITED(status); i++) {
                ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
                waitpid(pid, &status, 0);
        }
        if (WIFEXITED(status))
                return false;
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return true;
}

static void take_and_give(struct region *region)
{
        region_charge(region, 0, REGION_DEVICE, 3 * MIB, 8 * MIB);
        region_refund(region, 0, REGION_DEVICE, MIB);
        region_charge(region, 0, REGION_DEVICE, 20 * MIB, 8 * MIB);
        region_charge(region, 0, REGION_DEVICE, 4 * MIB, 8 * MIB);
}

TEST(killed_at_any_instruction_of_a_charge_nothing_is_left)
{
        struct region region;
        unsigned long k;

        open_fresh(&region);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, MIB, 10 * MIB), 0);
        for (k = 1; kill_after(&region, take_and_give, k); k += stride(7)) {
                if (k / 7 % 2) { /* somebody replaces the dead one's word first */
                        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 512, 20 * MIB), 0);
                        region_refund(&region, 0, REGION_DEVICE, 512);
                }
                CHECK_EQ(region_reap(&region), 1);
                CHECK_EQ(region_used_bytes(&region, 0), MIB);
        }
        CHECK(k > 100);
        region_close(&region);
}

static void reap_the_dead(struct region *region)
{
        region_reap(region);
}

/* `kept`: of each of the two. */
static void reapers_are_killed(uint64_t kept_bytes)
{
        struct region region;
        unsigned long k = 1;
        bool was_killed = true;

        open_fresh(&region);
        region.driver = kept_bytes ? &fake_driver : NULL;
        driver.holds = false;
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, MIB, 10 * MIB), 0);
        for (; was_killed; k += stride(kept_bytes ? 701 : 151)) {
                driver.kept_bytes = kept_bytes;
                for (unsigned i = 0; i < 2; i++)
                        die_with(&region, (3 + i) * MIB);
                was_killed = kill_after(&region, reap_the_dead, k);
                region_reap(&region);
                CHECK_EQ(region_used_bytes(&region, 0), MIB + 2 * kept_bytes);
                CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT);
                driver.kept_bytes = 0;
                if (kept_bytes)
                        region_reap(&region);
                CHECK_EQ(region_used_bytes(&region, 0), MIB);
        }
        CHECK(k > 1000);
        CHECK(region.file->slots_high <= 4);
        region_close(&region);
}

TEST(killed_at_any_instruction_of_a_reaping_nothing_is_lost_or_taken_twice)
{
        reapers_are_killed(0);
}

TEST(killed_at_any_instruction_of_a_reaping_what_others_hold_stays)
{
        reapers_are_killed(2 * MIB);
}

/* A racer that never ends, and is killed wherever it is. */
static void racer_until_killed(struct region *region, unsigned seed)
{
        rejoin(region);
        for (;;) {
                seed = seed * 1103515245 + 12345;
                if (region_charge(region, 0, REGION_DEVICE, 512 * (1 + seed % 7), 51200) == 0)
                        region_refund(region, 0, REGION_DEVICE, 512 * (1 + seed % 7));
        }
}

TEST(charges_add_up_while_processes_work_and_die)
{
        struct region region;

        open_fresh(&region);
        for (unsigned round = 0; round < 40; round++) {
                pid_t pids[3];
                for (unsigned i = 0; i < 3; i++) {
                        pids[i] = fork();
                        if (pids[i] == 0)
                                racer_until_killed(&region, round * 3 + i);
                }
                for (unsigned sample = 0; sample < 50; sample++)
                        CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT);
                for (unsigned i = 0; i < 3; i++)
                        kill(pids[i], SIGKILL);
                for (unsigned i = 0; i < 3; i++)
                        waitpid(pids[i], NULL, 0);
                CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT); /* dead, not yet reaped */
                region_reap(&region);
                CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT);
        }
        region_close(&region);
}

TEST(a_forged_atomic_word_is_noticed)
{
        struct region region;

        open_fresh(&region);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, 3 * MIB, 8 * MIB), 0);
        CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT);
        CHECK_EQ(region_check_own(&region), REGION_INTACT);
        uint64_t word = region.file->devices[0].word;
        region.file->devices[0].word = 0;
        CHECK_EQ(region_check_sum(&region, 0), REGION_UNEVEN);
        CHECK_EQ(region_check_all(&region, UINT64_MAX), REGION_UNEVEN);
        CHECK_EQ(region_check_all(&region, 0), REGION_INTACT); /* no time to read */
        CHECK_EQ(region_check_own(&region), REGION_INTACT);
        /* Both, so that it adds up: the process knows better. */
        uint64_t held = region.file->slots[region.slot].charges[0].held;
        region.file->slots[region.slot].charges[0].held = held & REGION_NUMBER_MASK;
        region.file->slots[region.slot].charges[0].intent = held & REGION_NUMBER_MASK;
        CHECK_EQ(region_check_sum(&region, 0), REGION_INTACT);
        CHECK_EQ(region_check_own(&region), REGION_OVERWROTE);
        /* Nothing goes round. */
        region_refund(&region, 0, REGION_DEVICE, 3 * MIB);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        region.file->devices[0].word = word;
        region_close(&region);
}

TEST(a_slot_that_was_taken_away_is_noticed)
{
        struct region region;

        open_fresh(&region);
        region.file->slots[region.slot].state = 0;
        CHECK_EQ(region_check_own(&region), REGION_OVERWROTE);
        region_close(&region);
}

TEST(a_deleted_and_a_replaced_region_are_distinguished)
{
        char path[64];
        struct region region, other;
        struct err e = { 0 };

        snprintf(path, sizeof path, "/dev/shm/vgpu-test-region-gone-%d", getpid());
        unlink(path);
        CHECK_EQ(region_open(path, 1, &region, &e), 0);
        CHECK_EQ(region_check_file(&region, path), REGION_INTACT);
        unlink(path);
        CHECK_EQ(region_check_file(&region, path), REGION_DELETED);
        CHECK_EQ(region_open(path, 1, &other, &e), 0);
        CHECK_EQ(region_check_file(&region, path), REGION_REPLACED);
        CHECK_EQ(region_check_file(&other, path), REGION_INTACT);
        region_close(&other);
        region_close(&region);
        unlink(path);
}

int main(void)
{
        return RUN(CASE(charges_add_up_while_processes_work_and_die),
                   CASE(a_forged_atomic_word_is_noticed),
                   CASE(a_slot_that_was_taken_away_is_noticed),
                   CASE(a_deleted_and_a_replaced_region_are_distinguished),
                   CASE(a_charge_that_fits_is_taken_and_one_byte_more_is_refused),
                   CASE(a_limit_below_what_is_held_refuses_and_takes_nothing_away),
                   CASE(a_device_and_its_virtual_memory_are_apart_and_both_are_left_empty),
                   CASE(numbers_go_round_without_losing_count),
                   CASE(the_dead_are_reaped_and_the_living_are_not),
                   CASE(what_the_dead_held_is_charged_until_the_driver_has_let_go_of_it),
                   CASE(what_others_hold_of_the_dead_stays_charged_until_they_let_go_of_it),
                   CASE(who_dies_after_the_driver_was_asked_waits_for_the_next_search),
                   CASE(a_driver_that_never_lets_go_is_waited_for_so_long_and_no_longer),
                   CASE(racing_processes_never_pass_the_limit_and_lose_nothing),
                   CASE(random_kills_in_a_race_lose_no_byte),
                   CASE(killed_at_any_instruction_of_a_charge_nothing_is_left),
                   CASE(killed_at_any_instruction_of_a_reaping_nothing_is_lost_or_taken_twice),
                   CASE(killed_at_any_instruction_of_a_reaping_what_others_hold_stays));
}
