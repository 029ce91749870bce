/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the API server. */
#include "kube_time.h"

#include <errno.h>

#include "unit.h"

TEST(times_are_read_with_and_without_a_fraction)
{
        int64_t us;

        CHECK_EQ(kube_time_parse("1970-01-02T00:00:01Z", &us), 0);
        CHECK_EQ(us, INT64_C(86401000000));
        CHECK_EQ(kube_time_parse("1970-01-01T00:00:00.25Z", &us), 0);
        CHECK_EQ(us, 250000);
        CHECK_EQ(kube_time_parse("1970-01-01T00:00:00.123456789Z", &us), 0);
        CHECK_EQ(us, 123456);
}

TEST(what_is_no_time_is_refused)
{
        int64_t us;

        CHECK_EQ(kube_time_parse(NULL, &us), -EINVAL);
        CHECK_EQ(kube_time_parse("", &us), -EINVAL);
        CHECK_EQ(kube_time_parse("1970-01-01T00:00:00", &us), -EINVAL);
        CHECK_EQ(kube_time_parse("1970-01-01T00:00:00+01:00", &us), -EINVAL);
        CHECK_EQ(kube_time_parse("1970-01-01T00:00:00Z!", &us), -EINVAL);
}

TEST(what_is_written_is_read)
{
        char text[KUBE_TIME_TEXT];
        int64_t us;

        kube_time_format_us(INT64_C(1700000000000007), text);
        CHECK_STR(text, "2023-11-14T22:13:20.000007Z");
        CHECK_EQ(kube_time_parse(text, &us), 0);
        CHECK_EQ(us, INT64_C(1700000000000007));
        kube_time_format_s(INT64_C(1700000000999999), text);
        CHECK_STR(text, "2023-11-14T22:13:20Z");
}

int main(void)
{
        return RUN(CASE(times_are_read_with_and_without_a_fraction),
                   CASE(what_is_no_time_is_refused), CASE(what_is_written_is_read));
}
