/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the choices that annotations make. */
#include "choice.h"

#include <errno.h>

#include "placement.h"
#include "unit.h"

TEST(every_name_and_value_leads_to_its_row)
{
        for (int i = 0; i < CHOICES; i++) {
                const struct choice_row *row = &choice_rows[i];
                enum choice choice;
                int value;

                CHECK(row->annotations[0] && !row->annotations[CHOICE_ANNOTATIONS - 1]);
                for (const char *const *name = row->annotations; *name; name++) {
                        CHECK(choice_find(*name, &choice));
                        CHECK_EQ((int)choice, i);
                }
                for (const struct choice_value *at = row->values; at && at->text; at++) {
                        CHECK_EQ(choice_parse((enum choice)i, at->text, &value, NULL), 0);
                        CHECK_EQ(value, at->value);
                }
        }
}

TEST(what_is_no_value_is_refused_with_a_list)
{
        enum choice choice;
        struct err e;
        int value;

        CHECK(!choice_find("vgpu.io/memory", &choice));
        CHECK_EQ(choice_parse(CHOICE_NODE_POLICY, "big", &value, &e), -EINVAL);
        CHECK_STR(e.text, "invalid value 'big' (expected one of: binpack, spread, none)");
        CHECK_EQ(choice_parse(CHOICE_TOPOLOGY, "", &value, &e), -EINVAL);
        CHECK_STR(e.text,
                  "invalid value '' (expected one of: none, numa, numa-strict, link, link-strict)");
        CHECK_EQ(choice_parse(CHOICE_USE_TYPES, "A100", &value, &e), 0);
        CHECK_EQ(choice_parse(CHOICE_USE_TYPES, "", &value, &e), -EINVAL);
}

TEST(a_policy_scores_nodes_by_their_fullness)
{
        CHECK_EQ(placement_score(PLACEMENT_BINPACK, 250, 10), 2);
        CHECK_EQ(placement_score(PLACEMENT_SPREAD, 250, 10), 8);
        CHECK_EQ(placement_score(PLACEMENT_ANY, 250, 10), 0);
}

int main(void)
{
        return RUN(CASE(every_name_and_value_leads_to_its_row),
                   CASE(what_is_no_value_is_refused_with_a_list),
                   CASE(a_policy_scores_nodes_by_their_fullness));
}
