/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of rate limits: a tenant that floods takes nothing from the others. */
#include "rate_limit.h"

#include "clock.h"
#include "unit.h"

#define MS NS_PER_MS

/* Sends this many requests in this time, beginning then; how many were let through. */
static unsigned flood(struct rate_limits *limits, uint64_t tenant, unsigned count,
                      uint64_t begin_ns, uint64_t time_ns)
{
        unsigned passed = 0;

        for (unsigned i = 0; i < count; i++)
                passed += rate_limits_take(limits, tenant, begin_ns + time_ns / count * i);
        return passed;
}

TEST(one_tenant_gets_its_rate_and_no_more)
{
        static struct rate_limits limits;
        const unsigned passed = flood(&limits, 7, 1000000, NS_PER_S, 10 * NS_PER_S);

        CHECK(passed >= RATE_LIMIT_MOST + 10 * RATE_LIMIT_PER_S - 10);
        CHECK(passed <= RATE_LIMIT_MOST + 10 * RATE_LIMIT_PER_S + 1);
}

TEST(a_tenant_that_asks_little_is_never_refused_while_others_flood)
{
        static struct rate_limits limits;
        unsigned refused = 0;

        for (uint64_t ms = 1; ms < 10000; ms++) {
                for (uint64_t tenant = 1; tenant <= 40; tenant++)
                        flood(&limits, tenant, 10, ms * MS, MS);
                if (ms % 100 == 0)
                        refused += !rate_limits_take(&limits, 4711, ms * MS);
        }
        CHECK_EQ(refused, 0);
}

TEST(tenants_that_all_flood_share_a_bounded_rate)
{
        static struct rate_limits limits;
        unsigned passed = 0;

        for (uint64_t ms = 1; ms <= 1000; ms++) /* what each had saved up */
                for (uint64_t tenant = 1; tenant <= 40; tenant++)
                        flood(&limits, tenant, 10, ms * MS, MS);
        for (uint64_t ms = 1001; ms <= 11000; ms++)
                for (uint64_t tenant = 1; tenant <= 40; tenant++)
                        passed += flood(&limits, tenant, 1, ms * MS, MS);
        CHECK(passed <= 10 * RATE_LIMIT_ALL_PER_S + 10 * 40 * RATE_LIMIT_SURE_PER_S + 100);
        CHECK(passed >= 10 * RATE_LIMIT_ALL_PER_S - 100);
}

TEST(more_tenants_than_buckets_do_no_harm)
{
        static struct rate_limits limits;
        unsigned refused = 0;

        for (uint64_t i = 0; i < 10000; i++)
                refused += !rate_limits_take(&limits, i * RATE_LIMIT_SETS, NS_PER_S + i * MS);
        CHECK_EQ(refused, 0);
}

int main(void)
{
        return RUN(CASE(one_tenant_gets_its_rate_and_no_more),
                   CASE(a_tenant_that_asks_little_is_never_refused_while_others_flood),
                   CASE(tenants_that_all_flood_share_a_bounded_rate),
                   CASE(more_tenants_than_buckets_do_no_harm));
}
