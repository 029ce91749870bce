/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of rows of options: each kind sets the field of its row, and nothing else. */
#include "option_row.h"

#include <errno.h>

#include "unit.h"

struct settings {
        const char *path, *name;
        bool is_plain, is_fast;
        unsigned mode, other;
};

#define FIELD(type, field) .target = OPTION_FIELD(struct settings, type, field)

static const struct option_row rows[] = {
        { .option = { "path", "FILE", "where", "file" },
          .take = option_take_text,
          FIELD(const char *, path) },
        { .option = { "plain", NULL, "no TLS", NULL },
          .take = option_take_flag,
          FIELD(bool, is_plain) },
        { .option = { "fast", "yes|no", "hurry", "yes no" },
          .take = option_take_truth,
          FIELD(bool, is_fast),
          .yes = 0 },
        { .option = { "mode", "HOW", "how", "none single mixed" },
          .take = option_take_choice,
          FIELD(unsigned, mode),
          .most = 2,
          .alias = "all" },
        { .option = { "lost", "X", "a row that somebody forgot to complete", NULL } },
};
enum { PATH, PLAIN, FAST, MODE, LOST, ROWS };

TEST(each_kind_sets_the_field_of_its_row)
{
        struct settings settings = { .name = "n", .is_fast = true, .other = 7 };
        struct err e = { 0 };

        CHECK_EQ(option_row_take(&settings, &rows[PATH], "/a", &e), 0);
        CHECK_EQ(option_row_take(&settings, &rows[PLAIN], NULL, &e), 0);
        CHECK_EQ(option_row_take(&settings, &rows[FAST], "no", &e), 0);
        CHECK_EQ(option_row_take(&settings, &rows[MODE], "single", &e), 0);
        CHECK_STR(settings.path, "/a");
        CHECK(settings.is_plain && !settings.is_fast);
        CHECK_EQ(settings.mode, 1);
        CHECK_EQ(option_row_take(&settings, &rows[MODE], "all", &e), 0);
        CHECK_EQ(settings.mode, 2);
        CHECK_STR(settings.name, "n");
        CHECK_EQ(settings.other, 7);
}

TEST(a_word_that_the_row_does_not_offer_changes_nothing)
{
        struct settings settings = { .mode = 1, .is_fast = true };
        struct err e = { 0 };

        CHECK_EQ(option_row_take(&settings, &rows[MODE], "mix", &e), -EINVAL);
        CHECK_STR(e.text, "invalid value 'mix' of --mode (expected none, single or mixed)");
        CHECK_EQ(option_row_take(&settings, &rows[FAST], "", &e), -EINVAL);
        CHECK_STR(e.text, "invalid value '' of --fast (expected yes or no)");
        CHECK_EQ(settings.mode, 1);
        CHECK(settings.is_fast);
}

TEST(a_row_without_a_kind_is_our_own_fault_and_says_so)
{
        struct settings settings = { 0 };
        struct err e = { 0 };

        CHECK_EQ(option_row_take(&settings, &rows[LOST], "x", &e), -EINVAL);
        CHECK_STR(e.text, "internal error: option '--lost' has no kind");
}

TEST(the_scanner_reads_the_rows_up_to_their_end)
{
        struct cli_option options[ROWS + 1];

        option_rows_copy(rows, ROWS, options);
        for (int i = 0; i < ROWS; i++)
                CHECK(options[i].name == rows[i].option.name);
        CHECK(!options[ROWS].name);
}

int main(void)
{
        return RUN(CASE(each_kind_sets_the_field_of_its_row),
                   CASE(a_word_that_the_row_does_not_offer_changes_nothing),
                   CASE(a_row_without_a_kind_is_our_own_fault_and_says_so),
                   CASE(the_scanner_reads_the_rows_up_to_their_end));
}
