/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of virtual ranges: found by any address in them, taken once, given back where they were charged. */
#include "virtual_range.h"

#include <stdio.h>
#include <unistd.h>

#include "ledger.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static char path[64];

static int open_once(void **state)
{
        struct err e = { 0 };

        (void)state;
        snprintf(path, sizeof path, "/dev/shm/vgpu-test-range-%d", getpid());
        return ledger_open(path, 4, &e);
}

static int remove_once(void **state)
{
        (void)state;
        return unlink(path);
}

static struct virtual_range range_at(uint64_t address)
{
        return (struct virtual_range){ .address = address, .bytes = MIB };
}

TEST(a_range_is_found_by_what_overlaps_it)
{
        struct virtual_range range = range_at(8 * MIB), found;

        CHECK(virtual_range_add(&range));
        CHECK(virtual_range_find(8 * MIB, 1, &found));
        CHECK_EQ(found.address, 8 * MIB);
        CHECK(virtual_range_find(9 * MIB - 1, 1, &found));
        CHECK(virtual_range_find(0, 9 * MIB, &found));
        CHECK(virtual_range_find(8 * MIB - 1, 2, &found));
        CHECK(!virtual_range_find(9 * MIB, 1, &found));
        CHECK(!virtual_range_find(0, 8 * MIB, &found));
        CHECK(!virtual_range_find(8 * MIB - 1, 1, &found));
        CHECK(!virtual_range_take(8 * MIB + 1, &found)); /* taken by its first byte only */
        CHECK(virtual_range_take(8 * MIB, &found));
        CHECK(!virtual_range_take(8 * MIB, &found));
        CHECK(!virtual_range_is_any());
}

TEST(ranges_of_a_device_are_listed_in_order_and_those_that_are_freed_are_not)
{
        struct virtual_range found[4], range;

        for (uint64_t i = 1; i <= 6; i++) {
                range = range_at(i * 8 * MIB);
                range.device_index = i == 2;
                range.event = i == 3;
                CHECK(virtual_range_add(&range));
        }
        CHECK_EQ(virtual_range_list(0, 0, found, 2), 2);
        CHECK_EQ(found[0].address, 8 * MIB);
        CHECK_EQ(found[1].address, 32 * MIB);
        CHECK_EQ(virtual_range_list(0, found[1].address, found, 4), 2);
        CHECK_EQ(found[1].address, 48 * MIB);
        CHECK_EQ(virtual_range_list(0, found[1].address, found, 4), 0);
        virtual_range_clear();
}

static struct virtual_range range_of(uint64_t address, uint64_t device_bytes, uint64_t host_bytes)
{
        struct virtual_range range = { .address = address,
                                       .bytes = device_bytes + host_bytes,
                                       .device_bytes = device_bytes,
                                       .host_bytes = host_bytes };

        CHECK(virtual_range_add(&range));
        return range;
}

TEST(what_is_used_often_replaces_what_is_not)
{
        struct virtual_exchange move;
        struct virtual_range found;

        range_of(64 * MIB, 8 * MIB, 0);
        range_of(128 * MIB, 0, 6 * MIB);
        CHECK(!virtual_range_use(64 * MIB, false));
        for (unsigned i = 0; i < 3; i++)
                CHECK(!virtual_range_use(129 * MIB, false));
        CHECK(virtual_range_use(129 * MIB, false));
        CHECK(virtual_range_exchange(129 * MIB, &move));
        CHECK_EQ(move.hot, 128 * MIB);
        CHECK_EQ(move.hot_bytes, 6 * MIB);
        CHECK_EQ(move.cold, 66 * MIB);
        CHECK_EQ(move.cold_bytes, 6 * MIB);
        CHECK(virtual_range_find(64 * MIB, 1, &found));
        CHECK_EQ(found.device_bytes, 2 * MIB);
        CHECK_EQ(found.host_bytes, 6 * MIB);
        CHECK(!virtual_range_exchange(129 * MIB, &move)); /* all of it is on the GPU */
        virtual_range_clear();
}

TEST(what_is_used_alike_stays_where_it_is)
{
        enum { ROUNDS = 200 };
        struct virtual_exchange move;

        range_of(64 * MIB, 8 * MIB, 0);
        range_of(96 * MIB, 8 * MIB, 0);
        range_of(128 * MIB, 0, 8 * MIB);
        for (unsigned i = 0; i < ROUNDS; i++) {
                virtual_range_use(64 * MIB, false);
                virtual_range_use(96 * MIB, false);
                if (virtual_range_use(128 * MIB, false))
                        CHECK(!virtual_range_exchange(128 * MIB, &move));
        }
        /* Neither does a new one give way at once. */
        range_of(160 * MIB, 8 * MIB, 0);
        CHECK(!virtual_range_exchange(128 * MIB, &move));
        virtual_range_clear();
}

TEST(a_graph_uses_what_was_captured)
{
        struct virtual_exchange move;
        uint64_t address;

        range_of(64 * MIB, 8 * MIB, 0);
        range_of(128 * MIB, 0, 8 * MIB);
        virtual_range_use(128 * MIB, true);
        CHECK_EQ(virtual_range_use_graphs(&address, 1), 0);
        CHECK_EQ(virtual_range_use_graphs(&address, 1), 0);
        CHECK_EQ(virtual_range_use_graphs(&address, 1), 1);
        CHECK_EQ(address, 128 * MIB);
        CHECK(virtual_range_exchange(address, &move));
        virtual_range_clear();
}

/* A kernel's parameters may still name it, and a graph may. */
TEST(what_is_freed_is_not_brought_onto_the_gpu)
{
        struct virtual_exchange move;
        struct virtual_range hot;
        uint64_t address;

        range_of(64 * MIB, 8 * MIB, 0);
        range_of(128 * MIB, 0, 8 * MIB);
        for (unsigned i = 0; i < 8; i++)
                virtual_range_use(128 * MIB, true);
        CHECK(virtual_range_take(128 * MIB, &hot));
        hot.event = 1;
        CHECK(virtual_range_add(&hot));
        CHECK(!virtual_range_use(128 * MIB, false));
        CHECK_EQ(virtual_range_use_graphs(&address, 1), 0);
        CHECK(!virtual_range_exchange(128 * MIB, &move));
        virtual_range_clear();
}

TEST(the_last_granule_of_a_range_is_moved_as_far_as_it_goes)
{
        struct virtual_exchange move;

        range_of(64 * MIB, 4 * MIB, 0);
        struct virtual_range hot = { .address = 128 * MIB,
                                     .bytes = 3 * MIB,
                                     .host_bytes = 4 * MIB };
        CHECK(virtual_range_add(&hot));
        for (unsigned i = 0; i < 4; i++)
                virtual_range_use(128 * MIB, false);
        CHECK(virtual_range_exchange(128 * MIB, &move));
        CHECK_EQ(move.hot_bytes, 3 * MIB);
        CHECK_EQ(move.cold_bytes, 4 * MIB);
        virtual_range_clear();
}

TEST(many_are_kept_in_order_whatever_order_they_come_and_go_in)
{
        enum { COUNT = 1000 };
        struct virtual_range range;

        for (uint64_t i = 0; i < COUNT; i++) {
                range = range_at((1 + i * 7919 % COUNT) * 2 * MIB);
                CHECK(virtual_range_add(&range));
        }
        for (uint64_t i = 0; i < COUNT; i++) {
                uint64_t address = (1 + i * 6007 % COUNT) * 2 * MIB;
                CHECK(virtual_range_find(address + 5, 1, &range));
                CHECK(virtual_range_take(address, &range));
                CHECK(!virtual_range_find(address + 5, 1, &range));
        }
        CHECK(!virtual_range_is_any());
}

static bool is_of_event(const struct virtual_range *range, void *closure)
{
        return range->event == *(uint64_t *)closure;
}

TEST(a_freed_range_is_not_forgotten)
{
        struct virtual_range range = range_at(8 * MIB), found;
        uint64_t event = 4;

        range.event = 5;
        CHECK(virtual_range_add(&range));
        CHECK(!virtual_range_take(8 * MIB, &found));
        CHECK(!virtual_range_take_freed(is_of_event, &event, &found));
        event = 5;
        CHECK(virtual_range_take_freed(is_of_event, &event, &found));
        CHECK(!virtual_range_is_any());
}

TEST(ranges_go_with_their_context_and_both_charges_are_returned)
{
        struct virtual_range own = range_at(8 * MIB), other = range_at(10 * MIB);
        struct charge charge;

        CHECK_EQ(ledger_reserve_virtual(2, 3 * MIB, 2 * MIB), 2 * MIB); /* as much as there is */
        CHECK_EQ(ledger_reserve_virtual(2, 3 * MIB, 2 * MIB), 0);
        CHECK_EQ(ledger_reserve(2, 4 * MIB, 4 * MIB, &charge), 0);
        ledger_rename(&charge, REGION_MANAGED);
        own.device_index = other.device_index = 2;
        own.context = 1;
        own.host_bytes = 2 * MIB;
        own.device_bytes = 4 * MIB;
        other.context = 2;
        CHECK(virtual_range_add(&own));
        CHECK(virtual_range_add(&other));
        ledger_release_context(1);
        CHECK_EQ(ledger_used_bytes(2), 0);
        CHECK_EQ(ledger_virtual_bytes(2), 0);
        CHECK(!virtual_range_find(8 * MIB, MIB, &own));
        CHECK(virtual_range_take(10 * MIB, &other));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CASE(a_range_is_found_by_what_overlaps_it),
                CASE(ranges_of_a_device_are_listed_in_order_and_those_that_are_freed_are_not),
                CASE(what_is_used_often_replaces_what_is_not),
                CASE(what_is_used_alike_stays_where_it_is),
                CASE(a_graph_uses_what_was_captured),
                CASE(what_is_freed_is_not_brought_onto_the_gpu),
                CASE(the_last_granule_of_a_range_is_moved_as_far_as_it_goes),
                CASE(many_are_kept_in_order_whatever_order_they_come_and_go_in),
                CASE(a_freed_range_is_not_forgotten),
                CASE(ranges_go_with_their_context_and_both_charges_are_returned),
        };

        return cmocka_run_group_tests(tests, open_once, remove_once);
}
