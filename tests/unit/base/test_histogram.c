/* SPDX-License-Identifier: Apache-2.0 */
/* Times in steps, as Prometheus reads them. */
#include "histogram.h"

#include <string.h>

#include "unit.h"

TEST(steps_add_up_to_all)
{
        struct histogram histogram = { 0 };
        struct str text = { 0 };

        histogram_add(&histogram, 20000); /* is within 20 µs */
        histogram_add(&histogram, 20001);
        histogram_add(&histogram, 3000000000);
        CHECK_EQ(histogram_print(&histogram, "t", "verb=\"bind\"", &text), 0);
        CHECK(strstr(text.text, "t_bucket{verb=\"bind\",le=\"2e-05\"} 1\n"));
        CHECK(strstr(text.text, "t_bucket{verb=\"bind\",le=\"5e-05\"} 2\n"));
        CHECK(strstr(text.text, "t_bucket{verb=\"bind\",le=\"2\"} 2\n"));
        CHECK(strstr(text.text, "t_bucket{verb=\"bind\",le=\"+Inf\"} 3\n"));
        CHECK(strstr(text.text, "t_sum{verb=\"bind\"} 3.000040001\n"));
        CHECK(strstr(text.text, "t_count{verb=\"bind\"} 3\n"));
        str_done(&text);
        CHECK_EQ(histogram_print(&histogram, "t", "", &text), 0);
        CHECK(strstr(text.text, "t_bucket{le=\"2e-05\"} 1\n"));
        str_done(&text);
}

int main(void)
{
        return RUN(CASE(steps_add_up_to_all));
}
