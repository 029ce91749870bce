/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of backoff: longer each time, up to a limit, never all at the same moment. */
#include "backoff.h"

#include "unit.h"

TEST(delays_double_up_to_a_limit)
{
        struct backoff backoff = { .first_ms = 100, .most_ms = 1000 };
        const uint64_t wanted[] = { 100, 200, 400, 800, 1000, 1000 };

        for (unsigned i = 0; i < 6; i++)
                CHECK_EQ(backoff_next_ms(&backoff, UINT32_MAX, 0), wanted[i]);
        backoff_reset(&backoff);
        CHECK_EQ(backoff_next_ms(&backoff, 0, 0), 50);
}

TEST(a_thousand_tries_are_still_within_the_limit)
{
        struct backoff backoff = { 0 };

        for (unsigned i = 0; i < 1000; i++)
                CHECK(backoff_next_ms(&backoff, backoff_chance(), 0) <= 30000);
}

TEST(what_the_server_asks_for_is_kept_and_has_a_limit)
{
        struct backoff backoff = { .first_ms = 100 };

        CHECK(backoff_next_ms(&backoff, UINT32_MAX / 2, 5000) >= 5000);
        CHECK(backoff_next_ms(&backoff, UINT32_MAX / 2, 86400000) < 150000);
}

int main(void)
{
        return RUN(CASE(delays_double_up_to_a_limit),
                   CASE(a_thousand_tries_are_still_within_the_limit),
                   CASE(what_the_server_asks_for_is_kept_and_has_a_limit));
}
