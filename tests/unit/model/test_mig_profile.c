/* SPDX-License-Identifier: Apache-2.0 */
/* Names of MIG profiles. */
#include "mig_profile.h"

#include "unit.h"

static void is(const char *text, struct mig_profile expected)
{
        struct mig_profile profile;

        CHECK(mig_profile_parse(text, &profile));
        CHECK(mig_profile_is_equal(&profile, &expected));
}

TEST(every_spelling)
{
        is("1g.5gb", (struct mig_profile){ .slices = 1, .memory_gb = 5 });
        is("mig-7g.141gb", (struct mig_profile){ .slices = 7, .memory_gb = 141 });
        is("1c.3g.20gb", (struct mig_profile){ .compute_slices = 1, .slices = 3, .memory_gb = 20 });
        const struct mig_profile me = { .slices = 1, .memory_gb = 10, .attributes = MIG_ME };

        is("1g.10gb+me", me);
        is("1g.10gb.me", me);
        is("1g.10gb-plus-me", me);
        is("1g.10gb+me.all",
           (struct mig_profile){ .slices = 1, .memory_gb = 10, .attributes = MIG_ME_ALL });
        is("1g.10gb+me,gfx",
           (struct mig_profile){ .slices = 1, .memory_gb = 10, .attributes = MIG_ME | MIG_GFX });
        is("2g.35gb-me",
           (struct mig_profile){ .slices = 2, .memory_gb = 35, .attributes = MIG_NO_ME });
}

TEST(invalid_mig_profiles_are_refused)
{
        static const char *const texts[] = { "",           "1g",         "1g.5g",      "g.5gb",
                                             "0g.5gb",     "1g.0gb",     "1g.5gbx",    "x1g.5gb",
                                             "1g.5gb+",    "1g.5gb+you", "1g.5gb+me,", "1G.5GB",
                                             "1g.99999gb", "1g.5gb +me" };
        struct mig_profile profile;

        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
                CHECK(!mig_profile_parse(texts[i], &profile));
}

TEST(printed_as_asked)
{
        const struct mig_profile profile = {
                .compute_slices = 1, .slices = 2, .memory_gb = 20, .attributes = MIG_ME | MIG_GFX
        };
        char text[MIG_PROFILE_TEXT];

        mig_profile_format(&profile, MIG_SPELLING_PLAIN, text);
        CHECK_STR(text, "1c.2g.20gb+me,gfx");
        mig_profile_format(&profile, MIG_SPELLING_DOT, text);
        CHECK_STR(text, "1c.2g.20gb.me,gfx");
        mig_profile_format(&profile, MIG_SPELLING_PLUS, text);
        CHECK_STR(text, "1c.2g.20gb-plus-me,gfx");
}

int main(void)
{
        return RUN(CASE(every_spelling), CASE(invalid_mig_profiles_are_refused),
                   CASE(printed_as_asked));
}
