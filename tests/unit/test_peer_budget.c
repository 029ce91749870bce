/* Tests of how often tenants are heard: one that floods costs nobody else a turn. */
#include "peer_budget.h"

#include "clock.h"
#include "unit.h"

#define MS NS_PER_MS

/* Asks this often in this time, beginning then; how often it was heard. */
static unsigned flood(struct peer_budgets *budgets, uint64_t tenant, unsigned count,
                      uint64_t begin_ns, uint64_t time_ns)
{
        unsigned heard = 0;

        for (unsigned i = 0; i < count; i++)
                heard += peer_budgets_take(budgets, tenant, begin_ns + time_ns / count * i);
        return heard;
}

TEST(one_tenant_is_heard_as_often_as_it_may_and_no_more)
{
        static struct peer_budgets budgets;
        const unsigned heard = flood(&budgets, 7, 1000000, NS_PER_S, 10 * NS_PER_S);

        CHECK(heard >= PEER_BUDGET_MOST + 10 * PEER_BUDGET_PER_S - 10);
        CHECK(heard <= PEER_BUDGET_MOST + 10 * PEER_BUDGET_PER_S + 1);
}

TEST(a_tenant_that_asks_little_is_always_heard_while_others_flood)
{
        static struct peer_budgets budgets;
        unsigned refused = 0;

        for (uint64_t ms = 1; ms < 10000; ms++) {
                for (uint64_t tenant = 1; tenant <= 40; tenant++)
                        flood(&budgets, tenant, 10, ms * MS, MS);
                if (ms % 100 == 0)
                        refused += !peer_budgets_take(&budgets, 4711, ms * MS);
        }
        CHECK_EQ(refused, 0);
}

TEST(tenants_that_all_flood_are_heard_at_a_bounded_pace_together)
{
        static struct peer_budgets budgets;
        unsigned heard = 0;

        for (uint64_t ms = 1; ms <= 1000; ms++) /* what each had saved up */
                for (uint64_t tenant = 1; tenant <= 40; tenant++)
                        flood(&budgets, tenant, 10, ms * MS, MS);
        for (uint64_t ms = 1001; ms <= 11000; ms++)
                for (uint64_t tenant = 1; tenant <= 40; tenant++)
                        heard += flood(&budgets, tenant, 1, ms * MS, MS);
        CHECK(heard <= 10 * PEER_BUDGET_ALL_PER_S + 10 * 40 * PEER_BUDGET_SURE_PER_S + 100);
        CHECK(heard >= 10 * PEER_BUDGET_ALL_PER_S - 100);
}

TEST(more_tenants_than_there_are_places_do_no_harm)
{
        static struct peer_budgets budgets;
        unsigned refused = 0;

        for (uint64_t i = 0; i < 10000; i++)
                refused += !peer_budgets_take(&budgets, i * PEER_BUDGET_SETS, NS_PER_S + i * MS);
        CHECK_EQ(refused, 0);
}

int main(void)
{
        return RUN(CASE(one_tenant_is_heard_as_often_as_it_may_and_no_more),
                   CASE(a_tenant_that_asks_little_is_always_heard_while_others_flood),
                   CASE(tenants_that_all_flood_are_heard_at_a_bounded_pace_together),
                   CASE(more_tenants_than_there_are_places_do_no_harm));
}
