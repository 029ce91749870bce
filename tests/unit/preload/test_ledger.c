/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the ledger: reserve, settle, release; small allocations share a block. */
#include "ledger.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "unit.h"

#define BLOCK ((uint64_t)LEDGER_GRANULE_BYTES)

static char path[64];

static int open_once(void **state)
{
        struct err e = { 0 };

        (void)state;
        snprintf(path, sizeof path, "/dev/shm/vgpu-test-ledger-%d", getpid());
        return ledger_open(path, 4, &e);
}

static int remove_once(void **state)
{
        (void)state;
        return unlink(path);
}

TEST(what_is_settled_is_released_exactly_once)
{
        struct charge charge;

        CHECK_EQ(ledger_reserve(0, 3 * BLOCK, 4 * BLOCK, &charge), 0);
        CHECK(ledger_settle(&charge, 0x10000000, HOLDING_DEVICE));
        CHECK_EQ(ledger_used_bytes(0), 3 * BLOCK);
        CHECK(ledger_release(0x10000000));
        CHECK(!ledger_release(0x10000000));
        CHECK_EQ(ledger_used_bytes(0), 0);
}

TEST(a_returned_charge_leaves_nothing)
{
        struct charge charge;

        CHECK_EQ(ledger_reserve(1, BLOCK, BLOCK, &charge), 0);
        CHECK_EQ(ledger_reserve(1, 1, BLOCK, &charge), -ENOMEM);
        ledger_give_back(&charge);
        CHECK_EQ(ledger_used_bytes(1), 0);
}

TEST(a_charge_follows_what_the_driver_took)
{
        struct charge charge;

        CHECK_EQ(ledger_reserve(1, 4 * BLOCK, 8 * BLOCK, &charge), 0);
        ledger_adjust(&charge, 2 * BLOCK);
        CHECK_EQ(ledger_used_bytes(1), 2 * BLOCK);
        ledger_adjust(&charge, 9 * BLOCK);
        CHECK_EQ(ledger_used_bytes(1), 9 * BLOCK);
        ledger_give_back(&charge);
        CHECK_EQ(ledger_used_bytes(1), 0);
}

TEST(small_allocations_of_one_block_are_charged_once)
{
        struct charge charge;

        for (uint64_t i = 0; i < 100; i++) {
                CHECK_EQ(ledger_reserve(2, BLOCK, 2 * BLOCK, &charge), 0);
                CHECK(ledger_settle_small(&charge, 0x40000000 + i * 512));
                CHECK_EQ(ledger_used_bytes(2), BLOCK);
        }
        for (uint64_t i = 0; i < 99; i++)
                CHECK(ledger_release(0x40000000 + i * 512));
        CHECK_EQ(ledger_used_bytes(2), BLOCK);
        CHECK(ledger_release(0x40000000 + 99 * 512));
        CHECK_EQ(ledger_used_bytes(2), 0);
}

int main(void)
{
        const struct CMUnitTest cases[] = {
                CASE(what_is_settled_is_released_exactly_once),
                CASE(a_returned_charge_leaves_nothing),
                CASE(a_charge_follows_what_the_driver_took),
                CASE(small_allocations_of_one_block_are_charged_once),
        };

        return cmocka_run_group_tests(cases, open_once, remove_once);
}
