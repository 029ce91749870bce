/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a GPU's memory between processes: charge, refuse, evict, reap. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "machine_fixture.h"
#include "unit.h"
#include "unit_memory.h"

static uint64_t used(struct machine *machine)
{
        struct unit_memory memory;

        unit_memory(machine, 0, &memory);
        return memory.used_bytes;
}

TEST(a_gpu_gives_what_it_has_and_no_byte_more)
{
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 10 * GRANULE), 0);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 1), -ENOMEM);
        unit_release(&machine, 0, a.slot, 10 * GRANULE);
        CHECK_EQ(used(&machine), 0);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, UINT64_MAX), -ENOMEM);
        fixture_kill(&a);
        machine_close(&machine);
}

TEST(a_refusal_never_counts_the_dead)
{
        struct machine machine;
        struct tenant a, b;

        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        fixture_attach(&machine, &b);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 8 * GRANULE), 0);
        CHECK_EQ(unit_charge(&machine, 0, b.slot, 8 * GRANULE), -ENOMEM);
        fixture_kill(&a);
        CHECK_EQ(unit_charge(&machine, 0, b.slot, 8 * GRANULE), 0);
        CHECK_EQ(used(&machine), 8 * GRANULE);
        fixture_kill(&b);
        machine_close(&machine);
}

/* As where there is no /proc; a container may be made so. */
TEST(a_boot_that_nobody_knows_ends_nothing)
{
        struct machine machine, again;
        struct tenant a;
        struct err e = { 0 };
        char path[64];

        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 8 * GRANULE), 0);
        memset(machine.file->header.boot_id, 0, sizeof machine.file->header.boot_id);
        snprintf(path, sizeof path, "/proc/self/fd/%d", machine.fd);
        CHECK_EQ(machine_open(path, &again, &e), 0);
        CHECK_EQ(used(&again), 8 * GRANULE);
        CHECK(slot_is_alive(&machine, slot_index(&machine, a.slot)));
        machine_close(&again);
        fixture_kill(&a);
        machine_close(&machine);
}

/* Nobody has reaped; somebody has begun to, and holds the dead process's lock. */
TEST(the_dead_count_no_more_while_another_cleans_up_after_them)
{
        struct machine machine;
        struct tenant a, b;

        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        fixture_attach(&machine, &b);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 8 * GRANULE), 0);
        fixture_kill(&a);
        CHECK_EQ(pthread_mutex_trylock(&a.slot->life), EOWNERDEAD);
        pthread_mutex_consistent(&a.slot->life);
        CHECK(!slot_is_alive(&machine, slot_index(&machine, a.slot)));
        CHECK_EQ(slot_reap(&machine), 0);
        CHECK_EQ(used(&machine), 0);
        CHECK_EQ(unit_charge(&machine, 0, b.slot, 10 * GRANULE), 0);
        CHECK_EQ(machine_unit(&machine, 0)->used_bytes, 10 * GRANULE);
        pthread_mutex_unlock(&a.slot->life);
        CHECK_EQ(slot_reap(&machine), 1);
        CHECK_EQ(used(&machine), 10 * GRANULE);
        fixture_kill(&b);
        machine_close(&machine);
}

TEST(a_driver_that_is_slow_to_free_counts_and_lists_the_dead_until_it_does)
{
        struct machine machine;
        struct tenant a, b;

        fixture_open(&machine, 10 * GRANULE, 1);
        machine.file->header.release_us = 60 * 1000 * 1000;
        fixture_attach(&machine, &a);
        fixture_attach(&machine, &b);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 8 * GRANULE), 0);
        fixture_kill(&a);
        CHECK_EQ(slot_reap(&machine), 0);
        CHECK_EQ(used(&machine), 8 * GRANULE);
        CHECK(slot_is_listed(&machine, slot_index(&machine, a.slot)));
        CHECK_EQ(unit_charge(&machine, 0, b.slot, 8 * GRANULE), -ENOMEM);
        a.slot->freed_ns = clock_now_ns(); /* a minute later */
        CHECK(!slot_is_listed(&machine, slot_index(&machine, a.slot)));
        CHECK_EQ(unit_charge(&machine, 0, b.slot, 8 * GRANULE), 0);
        CHECK_EQ(used(&machine), 8 * GRANULE);
        CHECK_EQ(slot_reap(&machine), 1);
        fixture_kill(&b);
        machine_close(&machine);
}

TEST(managed_memory_makes_space_for_device_memory)
{
        struct machine machine;
        struct tenant a, b;

        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        fixture_attach(&machine, &b);
        CHECK_EQ(unit_managed_in(&machine, 0, a.slot, 9 * GRANULE), 9 * GRANULE);
        CHECK_EQ(unit_charge(&machine, 0, b.slot, 4 * GRANULE), 0);
        CHECK_EQ(a.slot->units[0].managed_bytes, 6 * GRANULE);
        CHECK_EQ(used(&machine), 10 * GRANULE);
        /* Giving back what was evicted meanwhile gives back only what is there. */
        unit_managed_out(&machine, 0, a.slot, 9 * GRANULE);
        CHECK_EQ(used(&machine), 4 * GRANULE);
        fixture_kill(&a);
        fixture_kill(&b);
        machine_close(&machine);
}

TEST(an_outsider_takes_memory_and_gives_it_back)
{
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        CHECK_EQ(unit_set_outsider(&machine, 0, 9 * GRANULE), 0);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 2 * GRANULE), -ENOMEM);
        CHECK_EQ(unit_set_outsider(&machine, 0, 0), 0);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 2 * GRANULE), 0);
        CHECK_EQ(unit_set_outsider(&machine, 0, 9 * GRANULE), -ENOMEM);
        fixture_kill(&a);
        machine_close(&machine);
}

TEST(slots_of_the_dead_are_used_again)
{
        struct machine machine;
        struct tenant tenants[8];

        fixture_open(&machine, 0, 1);
        for (unsigned round = 0; round < 50; round++) {
                for (unsigned i = 0; i < 8; i++)
                        fixture_attach(&machine, &tenants[i]);
                for (unsigned i = 0; i < 8; i++)
                        fixture_kill(&tenants[i]);
        }
        CHECK_EQ(machine.file->header.slots_high, 8);
        CHECK_EQ(slot_reap(&machine), 8);
        machine_close(&machine);
}

int main(void)
{
        return RUN(CASE(a_gpu_gives_what_it_has_and_no_byte_more),
                   CASE(a_refusal_never_counts_the_dead),
                   CASE(a_boot_that_nobody_knows_ends_nothing),
                   CASE(the_dead_count_no_more_while_another_cleans_up_after_them),
                   CASE(a_driver_that_is_slow_to_free_counts_and_lists_the_dead_until_it_does),
                   CASE(managed_memory_makes_space_for_device_memory),
                   CASE(an_outsider_takes_memory_and_gives_it_back),
                   CASE(slots_of_the_dead_are_used_again));
}
