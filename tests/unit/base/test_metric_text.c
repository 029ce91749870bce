/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of figures as Prometheus reads them. */
#include "metric_text.h"

#include <math.h>

#include "unit.h"

static const char *sample(struct str *out, const struct metric_label *labels, double value)
{
        str_done(out);
        *out = (struct str){ 0 };
        CHECK_EQ(metric_sample(out, "a_bytes", labels, value), 0);
        return out->text;
}

TEST(a_head_says_what_and_of_which_type)
{
        struct str out = { 0 };

        CHECK_EQ(metric_head(&out, "vgpu_x_total", METRIC_COUNTER, "How often."), 0);
        CHECK_STR(out.text, "# HELP vgpu_x_total How often.\n# TYPE vgpu_x_total counter\n");
        str_done(&out);
}

TEST(numbers_are_whole_where_they_are_whole)
{
        static const struct {
                double value;
                const char *text;
        } rows[] = {
                { 0, "a_bytes 0\n" },           { 1, "a_bytes 1\n" },
                { -3, "a_bytes -3\n" },         { 85899345920.0, "a_bytes 85899345920\n" },
                { 0.25, "a_bytes 0.25\n" },     { 1.0 / 3, "a_bytes 0.333333333333\n" },
                { 1e18, "a_bytes 1e+18\n" },    { NAN, "a_bytes NaN\n" },
                { INFINITY, "a_bytes +Inf\n" }, { -INFINITY, "a_bytes -Inf\n" },
        };
        struct str out = { 0 };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                CHECK_STR(sample(&out, NULL, rows[i].value), rows[i].text);
        str_done(&out);
}

TEST(values_of_labels_may_be_anything)
{
        static const struct {
                const char *value, *text;
        } rows[] = {
                { "plain", "plain" },
                { "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
                { "{},= ", "{},= " },
                { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
                { "\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80" },
                { "a\xff\xc3", "a??" },         /* never a beginning; a beginning without end */
                { "\xc0\xaf", "??" },           /* "/" in two bytes */
                { "\xed\xa0\x80", "???" },      /* half of a pair */
                { "\xf4\x90\x80\x80", "????" }, /* beyond the last character */
                { "\xe0\x80\xaf", "???" },      /* "/" in three bytes */
                { "\xf0\x80\x80\xaf", "????" }, /* "/" in four bytes */
                { "\xe2\x82", "??" },
        };
        struct str out = { 0 }, wanted = { 0 };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct metric_label labels[] = { { "pod", rows[i].value }, { 0 } };

                CHECK_EQ(str_appendf(&wanted, "a_bytes{pod=\"%s\"} 1\n", rows[i].text), 0);
                CHECK_STR(sample(&out, labels, 1), wanted.text);
                str_done(&wanted);
                wanted = (struct str){ 0 };
        }
        str_done(&out);
}

TEST(labels_without_value_are_left_out)
{
        const struct metric_label some[] = {
                { "a", "" }, { "b", "1" }, { "c", NULL }, { "d", "2" }, { 0 }
        };
        const struct metric_label none[] = { { "a", "" }, { 0 } };
        struct str out = { 0 };

        CHECK_STR(sample(&out, some, 1), "a_bytes{b=\"1\",d=\"2\"} 1\n");
        CHECK_STR(sample(&out, none, 1), "a_bytes 1\n");
        str_done(&out);
}

int main(void)
{
        return RUN(CASE(a_head_says_what_and_of_which_type),
                   CASE(numbers_are_whole_where_they_are_whole),
                   CASE(values_of_labels_may_be_anything), CASE(labels_without_value_are_left_out));
}
