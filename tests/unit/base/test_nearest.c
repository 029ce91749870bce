/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of nearest: what a mistyped word meant. */
#include "nearest.h"

#include "unit.h"

TEST(edits_are_counted)
{
        CHECK_EQ(nearest_distance("run", "run"), 0);
        CHECK_EQ(nearest_distance("rn", "run"), 1);
        CHECK_EQ(nearest_distance("runn", "run"), 1);
        CHECK_EQ(nearest_distance("rum", "run"), 1);
        CHECK_EQ(nearest_distance("urn", "run"), 1); /* neighbours swapped */
        CHECK_EQ(nearest_distance("", "run"), 3);
        CHECK_EQ(nearest_distance("kitten", "sitting"), 3);
}

TEST(the_nearest_wins_and_the_far_are_not_offered)
{
        struct nearest nearest = { 0 };
        char text[64];

        nearest_offer(&nearest, "creat", "destroy");
        assert_null(nearest.word);
        CHECK_STR(nearest_text(&nearest, "", text, sizeof text), "");
        nearest_offer(&nearest, "creat", "treat");
        nearest_offer(&nearest, "creat", "create");
        CHECK_STR(nearest.word, "treat"); /* first among equals */
        CHECK_STR(nearest_text(&nearest, "--", text, sizeof text), " (did you mean '--treat'?)");
        nearest = (struct nearest){ 0 };
        nearest_offer(&nearest, "foo", "top"); /* of three letters one is the same */
        assert_null(nearest.word);
        nearest_offer(&nearest, "deviceSplitCont", "device-split-count");
        CHECK_STR(nearest.word, "device-split-count");
}

TEST(a_beginning_is_near_to_the_whole)
{
        struct nearest nearest = { 0 };

        nearest_offer(&nearest, "a100", "a30-24gb");
        nearest_offer(&nearest, "a100", "a100-40gb");
        CHECK_STR(nearest.word, "a100-40gb");
}

TEST(very_long_words_have_no_nearest_name)
{
        struct nearest nearest = { 0 };
        char word[200];

        for (size_t i = 0; i < sizeof word - 1; i++)
                word[i] = 'x';
        word[sizeof word - 1] = '\0';
        nearest_offer(&nearest, word, "run");
        assert_null(nearest.word);
}

int main(void)
{
        return RUN(CASE(edits_are_counted), CASE(the_nearest_wins_and_the_far_are_not_offered),
                   CASE(a_beginning_is_near_to_the_whole),
                   CASE(very_long_words_have_no_nearest_name));
}
