/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of access_cache: answers hold for their time, there is an end to them, and strangers push out strangers. */
#include "access_cache.h"

#include <string.h>

#include "clock.h"
#include "unit.h"

#define NOW (1000000 * NS_PER_S)

static struct access_key key_of(unsigned number)
{
        struct access_key key = { 0 };

        memcpy(key.bytes, &number, sizeof number);
        return key;
}

static void put(struct access_cache *cache, unsigned number, enum access_verdict verdict,
                uint64_t now_ns)
{
        const struct access_key key = key_of(number);

        access_cache_put(cache, &key, verdict, "user", now_ns);
}

/* ACCESS_UNKNOWN: it must be asked. */
static enum access_verdict verdict_of(const struct access_cache *cache, unsigned number,
                                      uint64_t now_ns)
{
        const struct access_key key = key_of(number);
        const struct access_entry *entry = access_cache_find(cache, &key, now_ns);

        return entry ? entry->verdict : ACCESS_UNKNOWN;
}

static bool is_recalled(const struct access_cache *cache, unsigned number, uint64_t now_ns)
{
        const struct access_key key = key_of(number);

        return access_cache_recalls(cache, &key, now_ns);
}

TEST(nothing_is_known_at_first)
{
        const struct access_cache cache = { 0 };

        CHECK_EQ(verdict_of(&cache, 1, NOW), ACCESS_UNKNOWN);
        CHECK(!is_recalled(&cache, 1, NOW));
}

TEST(an_answer_holds_for_its_time_and_for_its_key)
{
        const uint64_t allowed_ns = ACCESS_ALLOWED_S * NS_PER_S;
        const uint64_t refused_ns = ACCESS_REFUSED_S * NS_PER_S;
        struct access_cache cache = { 0 };

        put(&cache, 1, ACCESS_ALLOWED, NOW);
        put(&cache, 2, ACCESS_DENIED, NOW);
        put(&cache, 3, ACCESS_STRANGER, NOW);
        CHECK_EQ(verdict_of(&cache, 1, NOW + allowed_ns - 1), ACCESS_ALLOWED);
        CHECK_EQ(verdict_of(&cache, 1, NOW + allowed_ns), ACCESS_UNKNOWN);
        CHECK_EQ(verdict_of(&cache, 2, NOW + refused_ns - 1), ACCESS_DENIED);
        CHECK_EQ(verdict_of(&cache, 2, NOW + refused_ns), ACCESS_UNKNOWN);
        CHECK_EQ(verdict_of(&cache, 3, NOW + refused_ns - 1), ACCESS_STRANGER);
        CHECK_EQ(verdict_of(&cache, 3, NOW + refused_ns), ACCESS_UNKNOWN);
        CHECK_EQ(verdict_of(&cache, 4, NOW), ACCESS_UNKNOWN);
        access_cache_done(&cache);
}

TEST(a_right_that_was_taken_away_is_gone_with_the_next_answer)
{
        struct access_cache cache = { 0 };

        put(&cache, 1, ACCESS_ALLOWED, NOW);
        put(&cache, 1, ACCESS_DENIED, NOW + ACCESS_ALLOWED_S * NS_PER_S);
        CHECK_EQ(cache.count, 1);
        CHECK_EQ(verdict_of(&cache, 1, NOW + ACCESS_ALLOWED_S * NS_PER_S), ACCESS_DENIED);
        CHECK(!is_recalled(&cache, 1, NOW + ACCESS_ALLOWED_S * NS_PER_S));
        access_cache_done(&cache);
}

TEST(strangers_push_out_strangers_and_nobody_who_is_allowed)
{
        struct access_cache cache = { 0 };

        put(&cache, 0, ACCESS_ALLOWED, NOW);
        for (unsigned i = 1; i < 100 * ACCESS_ENTRIES; i++)
                put(&cache, i, ACCESS_STRANGER, NOW + i);
        CHECK_EQ(cache.count, ACCESS_ENTRIES);
        CHECK_EQ(verdict_of(&cache, 0, NOW + NS_PER_S), ACCESS_ALLOWED);
        CHECK_EQ(verdict_of(&cache, 100 * ACCESS_ENTRIES - 1, NOW + NS_PER_S), ACCESS_STRANGER);
        CHECK_EQ(verdict_of(&cache, 1, NOW + NS_PER_S), ACCESS_UNKNOWN);
        access_cache_done(&cache);
}

TEST(where_all_are_allowed_the_oldest_goes_and_a_refusal_is_asked_again)
{
        struct access_cache cache = { 0 };

        for (unsigned i = 0; i < ACCESS_ENTRIES; i++)
                put(&cache, i, ACCESS_ALLOWED, NOW + i);
        put(&cache, 1000, ACCESS_STRANGER, NOW + NS_PER_S);
        CHECK_EQ(verdict_of(&cache, 1000, NOW + NS_PER_S), ACCESS_UNKNOWN);
        CHECK_EQ(verdict_of(&cache, 0, NOW + NS_PER_S), ACCESS_ALLOWED);
        put(&cache, 2000, ACCESS_ALLOWED, NOW + NS_PER_S);
        CHECK_EQ(verdict_of(&cache, 2000, NOW + NS_PER_S), ACCESS_ALLOWED);
        CHECK_EQ(verdict_of(&cache, 0, NOW + NS_PER_S), ACCESS_UNKNOWN);
        CHECK_EQ(verdict_of(&cache, 1, NOW + NS_PER_S), ACCESS_ALLOWED);
        access_cache_done(&cache);
}

/* Tokens are renewed every hour: those of yesterday leave their places to others. */
TEST(who_was_allowed_long_ago_is_forgotten)
{
        const uint64_t later_ns = NOW + ACCESS_RECALL_S * NS_PER_S + ACCESS_ENTRIES;
        struct access_cache cache = { 0 };

        for (unsigned i = 0; i < ACCESS_ENTRIES; i++)
                put(&cache, i, ACCESS_ALLOWED, NOW + i);
        CHECK(is_recalled(&cache, 0, NOW + ACCESS_RECALL_S * NS_PER_S - 1));
        CHECK(!is_recalled(&cache, 0, NOW + ACCESS_RECALL_S * NS_PER_S));
        put(&cache, 1000, ACCESS_STRANGER, later_ns);
        CHECK_EQ(verdict_of(&cache, 1000, later_ns), ACCESS_STRANGER);
        access_cache_done(&cache);
}

static unsigned taken(struct access_budget *budget, uint64_t now_ns)
{
        unsigned count = 0;

        while (access_budget_take(budget, now_ns))
                count++;
        return count;
}

TEST(a_budget_has_a_burst_and_a_rate)
{
        struct access_budget budget = { 0 };

        CHECK_EQ(taken(&budget, NOW), ACCESS_BURST);
        CHECK_EQ(taken(&budget, NOW + NS_PER_S / ACCESS_PER_S - 1), 0);
        CHECK_EQ(taken(&budget, NOW + NS_PER_S / ACCESS_PER_S), 1);
        CHECK_EQ(taken(&budget, NOW + 3 * NS_PER_S), 3 * ACCESS_PER_S - 1);
        CHECK_EQ(taken(&budget, NOW + 86400 * NS_PER_S), ACCESS_BURST);
}

int main(void)
{
        return RUN(
                CASE(nothing_is_known_at_first), CASE(an_answer_holds_for_its_time_and_for_its_key),
                CASE(a_right_that_was_taken_away_is_gone_with_the_next_answer),
                CASE(strangers_push_out_strangers_and_nobody_who_is_allowed),
                CASE(where_all_are_allowed_the_oldest_goes_and_a_refusal_is_asked_again),
                CASE(who_was_allowed_long_ago_is_forgotten), CASE(a_budget_has_a_burst_and_a_rate));
}
