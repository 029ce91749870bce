/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of log_limit: a flood of lines is a few lines, and nothing is lost count of. */
#include "log_limit.h"

#include "clock.h"
#include "unit.h"

static unsigned shown(struct log_limit *limit, unsigned lines, uint64_t now_ns)
{
        unsigned count = 0;
        uint64_t hidden;

        while (lines-- > 0)
                count += log_limit_take(limit, now_ns, &hidden);
        return count;
}

TEST(the_first_lines_of_a_minute_are_shown)
{
        struct log_limit limit = { 0 };

        CHECK_EQ(shown(&limit, LOG_LIMIT_MOST, NS_PER_S), LOG_LIMIT_MOST);
        CHECK_EQ(shown(&limit, 100000, NS_PER_S), 0);
        CHECK_EQ(shown(&limit, 100000, LOG_LIMIT_S * NS_PER_S), 0);
}

TEST(the_next_minute_begins_with_how_many_are_missing)
{
        struct log_limit limit = { 0 };
        uint64_t hidden = 0;

        shown(&limit, LOG_LIMIT_MOST + 77, NS_PER_S);
        CHECK(log_limit_take(&limit, (1 + LOG_LIMIT_S) * NS_PER_S, &hidden));
        CHECK_EQ(hidden, 77);
        CHECK(log_limit_take(&limit, (1 + LOG_LIMIT_S) * NS_PER_S, &hidden));
        CHECK_EQ(hidden, 0);
}

TEST(now_and_then_is_always_shown)
{
        struct log_limit limit = { 0 };

        for (uint64_t minute = 1; minute < 1000; minute++)
                CHECK_EQ(shown(&limit, LOG_LIMIT_MOST, minute * LOG_LIMIT_S * NS_PER_S),
                         LOG_LIMIT_MOST);
}

int main(void)
{
        return RUN(CASE(the_first_lines_of_a_minute_are_shown),
                   CASE(the_next_minute_begins_with_how_many_are_missing),
                   CASE(now_and_then_is_always_shown));
}
