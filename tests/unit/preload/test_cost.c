/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of learned costs. */
#include "cost.h"

#include "unit.h"

static uint32_t cost_of(uint64_t key)
{
        return atomic_load(&cost_table[cost_find(key)].ns);
}

static void learn(uint64_t key, uint64_t ns, bool is_upper)
{
        cost_learn(cost_find(key), ns, is_upper);
}

TEST(what_was_never_seen_is_unknown_and_never_fits)
{
        CHECK_EQ(cost_of(cost_key_kernel("a", 1, 1, 1, 32, 1, 1)), COST_UNKNOWN_NS);
        CHECK_EQ(atomic_load(&cost_table[0].ns), COST_UNKNOWN_NS);
}

TEST(grid_and_block_and_function_make_the_work)
{
        const uint64_t base = cost_key_kernel("b", 1, 2, 3, 32, 4, 5);

        CHECK(base != cost_key_kernel("b", 2, 1, 3, 32, 4, 5));
        CHECK(base != cost_key_kernel("b", 1, 2, 3, 4, 32, 5));
        CHECK(base != cost_key_kernel("b", 1, 3, 2, 32, 4, 5));
        CHECK(base != cost_key_kernel("b", 1, 2, 3, 32, 5, 4));
        CHECK(base != cost_key_kernel("c", 1, 2, 3, 32, 4, 5));
        CHECK(cost_key_graph("b") != cost_key_kernel("b", 0, 0, 0, 0, 0, 0));
}

TEST(an_average_follows_and_jumps_where_it_is_far_too_low)
{
        const uint64_t key = cost_key_graph("d");

        learn(key, 1000, false);
        CHECK_EQ(cost_of(key), 1000);
        learn(key, 1100, false);
        CHECK_EQ(cost_of(key), 1010);
        learn(key, 500, false);
        CHECK_EQ(cost_of(key), 959);
        learn(key, 1000000, false);
        CHECK_EQ(cost_of(key), 1000000);
        learn(key, UINT64_C(1) << 40, false);
        CHECK_EQ(cost_of(key), COST_UNKNOWN_NS - 1);
}

TEST(a_delayed_measurement_only_lowers_a_cost)
{
        const uint64_t key = cost_key_graph("e");

        learn(key, 1000, true);
        CHECK_EQ(cost_of(key), 1000);
        learn(key, 5000, true);
        CHECK_EQ(cost_of(key), 1000);
        learn(key, 900, true);
        CHECK_EQ(cost_of(key), 990);
}

TEST(a_handle_that_is_gone_is_forgotten)
{
        const uint64_t key = cost_key_graph("f");

        learn(key, 1000, false);
        cost_forget(key);
        CHECK_EQ(cost_of(key), COST_UNKNOWN_NS);
}

TEST(a_full_table_forgets_and_goes_on)
{
        for (uint64_t i = 1; i < 8 * COSTS; i++)
                learn(cost_key_kernel("g", (unsigned)i, 1, 1, 32, 1, 1), 1000, false);
        CHECK_EQ(cost_of(cost_key_kernel("g", 8 * COSTS - 1, 1, 1, 32, 1, 1)), 1000);
}

int main(void)
{
        return RUN(CASE(what_was_never_seen_is_unknown_and_never_fits),
                   CASE(grid_and_block_and_function_make_the_work),
                   CASE(an_average_follows_and_jumps_where_it_is_far_too_low),
                   CASE(a_delayed_measurement_only_lowers_a_cost),
                   CASE(a_handle_that_is_gone_is_forgotten),
                   CASE(a_full_table_forgets_and_goes_on));
}
