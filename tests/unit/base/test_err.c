/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of err: the sentence, its context, and what happens when it grows too long. */
#include "err.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

TEST(a_code_comes_back_with_its_sentence)
{
        struct err e = { 0 };

        CHECK_EQ(err_set(&e, -ENOENT, "cannot read share '%s'", "a"), -ENOENT);
        CHECK_EQ(e.code, -ENOENT);
        CHECK_STR(e.text, "cannot read share 'a'");
}

TEST(context_goes_before_the_sentence)
{
        struct err e = { 0 };

        err_set(&e, -EINVAL, "unknown unit 'GiBB'");
        CHECK_EQ(err_context(&e, -EINVAL, "/etc/share"), -EINVAL);
        CHECK_STR(e.text, "/etc/share: unknown unit 'GiBB'");
}

TEST(a_long_text_is_cut_and_terminated)
{
        struct err e = { 0 };
        char context[300];

        memset(context, 'x', sizeof context - 1);
        context[sizeof context - 1] = '\0';
        err_set(&e, -EINVAL, "%s", context);
        CHECK_EQ(strlen(e.text), sizeof e.text - 1);
        err_context(&e, -EINVAL, context);
        CHECK_EQ(strlen(e.text), sizeof e.text - 1);
        CHECK_EQ(e.text[0], 'x');
}

TEST(foreign_control_characters_are_not_repeated)
{
        struct err e = { 0 };

        err_set(&e, -EINVAL, "unknown key '%s'", "a\nerror node: \033[2J\x7f\xc2\x9bm");
        CHECK_STR(e.text, "unknown key 'a?error node: ?[2J???m'");
        err_context(&e, -EINVAL, "pod\ta");
        CHECK_STR(e.text, "pod?a: unknown key 'a?error node: ?[2J???m'");
        err_set(&e, -EINVAL, "'%s'", "Größe \xc2\xa0");
        CHECK_STR(e.text, "'Größe \xc2\xa0'");
}

TEST(an_error_can_be_set_without_a_receiver)
{
        CHECK_EQ(err_set(NULL, -EIO, "unheard"), -EIO);
        CHECK_EQ(err_context(NULL, -EIO, "unheard"), -EIO);
}

int main(void)
{
        return RUN(CASE(a_code_comes_back_with_its_sentence),
                   CASE(context_goes_before_the_sentence), CASE(a_long_text_is_cut_and_terminated),
                   CASE(foreign_control_characters_are_not_repeated),
                   CASE(an_error_can_be_set_without_a_receiver));
}
