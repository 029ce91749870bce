/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of vec: items stay in order while it grows and shrinks. */
#include "vec.h"

#include "unit.h"

TEST(items_keep_their_order)
{
        struct vec vec = VEC_OF(int);

        for (int i = 0; i < 100; i++)
                CHECK_EQ(vec_push(&vec, &i), 0);
        for (int i = 0; i < 100; i++)
                CHECK_EQ(*(int *)vec_at(&vec, (size_t)i), i);
        CHECK(!vec_at(&vec, 100));
        vec_done(&vec);
        CHECK_EQ(vec.count, 0);
}

TEST(removing_closes_the_gap)
{
        struct vec vec = VEC_OF(int);

        for (int i = 0; i < 4; i++)
                vec_push(&vec, &i);
        vec_remove(&vec, 1);
        vec_remove(&vec, 9);
        CHECK_EQ(vec.count, 3);
        CHECK_EQ(*(int *)vec_at(&vec, 1), 2);
        vec_remove(&vec, 2);
        CHECK_EQ(vec.count, 2);
        vec_done(&vec);
}

TEST(an_item_without_value_is_zero)
{
        struct vec vec = VEC_OF(uint64_t);

        CHECK_EQ(vec_push(&vec, NULL), 0);
        CHECK_EQ(*(uint64_t *)vec_at(&vec, 0), 0);
        vec_done(&vec);
}

int main(void)
{
        return RUN(CASE(items_keep_their_order), CASE(removing_closes_the_gap),
                   CASE(an_item_without_value_is_zero));
}
