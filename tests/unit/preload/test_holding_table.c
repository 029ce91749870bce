/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the table of holdings: against a simple reference, and with threads. */
#include "holding_table.h"

#include <pthread.h>
#include <stdlib.h>

#include "unit.h"

static struct holding make(uint64_t key, uint64_t bytes)
{
        return (struct holding){ .key = key, .bytes = bytes, .count = 1 };
}

TEST(what_was_added_is_found_once_and_taken_once)
{
        struct holding got, added = make(0x7f0000000000, 42);

        CHECK(!holding_find(added.key, &got));
        CHECK(holding_add(&added));
        CHECK(holding_find(added.key, &got));
        CHECK_EQ(got.bytes, 42);
        CHECK(holding_take(added.key, &got));
        CHECK(!holding_take(added.key, &got));
}

TEST(a_key_of_zero_is_never_there)
{
        struct holding got;

        CHECK(!holding_find(0, &got));
        CHECK(!holding_take(0, &got));
        CHECK_EQ(holding_count(0, 1), -1);
}

TEST(a_count_removes_its_holding_at_zero)
{
        struct holding got, added = make(0x1001, 7);

        CHECK(holding_add(&added));
        CHECK_EQ(holding_count(added.key, 1), 2);
        CHECK_EQ(holding_count(added.key, -1), 1);
        CHECK_EQ(holding_count(added.key, -1), 0);
        CHECK(!holding_find(added.key, &got));
}

/* 100 000 live ones, added and removed in a scattered order, each found with its own bytes. */
TEST(many_are_kept_apart)
{
        enum { MANY = 100000 };
        struct holding got;

        for (uint64_t i = 1; i <= MANY; i++) {
                struct holding added = make(i * 512, i);
                CHECK(holding_add(&added));
        }
        for (uint64_t i = 1; i <= MANY; i += 3) {
                CHECK(holding_take(i * 512, &got));
                CHECK_EQ(got.bytes, i);
        }
        for (uint64_t i = 1; i <= MANY; i++) {
                CHECK_EQ(holding_find(i * 512, &got), i % 3 != 1);
                if (i % 3 != 1)
                        CHECK_EQ(got.bytes, i);
        }
        for (uint64_t i = 1; i <= MANY; i++)
                holding_take(i * 512, &got);
}

static void *churn(void *closure)
{
        uint64_t base = (uint64_t)(uintptr_t)closure << 32;
        struct holding got;

        for (unsigned round = 0; round < 20; round++) {
                for (uint64_t i = 1; i < 500; i++) {
                        struct holding added = make(base + i * 512, base + i);
                        if (!holding_add(&added))
                                return (void *)1;
                }
                for (uint64_t i = 1; i < 500; i++)
                        if (!holding_take(base + i * 512, &got) || got.bytes != base + i)
                                return (void *)1;
        }
        return NULL;
}

TEST(threads_do_not_lose_each_others_holdings)
{
        pthread_t threads[4];
        void *result;

        for (uintptr_t i = 0; i < 4; i++)
                pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
        for (unsigned i = 0; i < 4; i++) {
                pthread_join(threads[i], &result);
                CHECK(result == NULL);
        }
}

int main(void)
{
        return RUN(CASE(what_was_added_is_found_once_and_taken_once),
                   CASE(a_key_of_zero_is_never_there), CASE(a_count_removes_its_holding_at_zero),
                   CASE(many_are_kept_apart), CASE(threads_do_not_lose_each_others_holdings));
}
