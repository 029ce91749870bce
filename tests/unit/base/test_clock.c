/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of clock: it never goes back. */
#include "clock.h"

#include "unit.h"

TEST(time_only_goes_forward)
{
        uint64_t before_ns = clock_now_ns();

        for (unsigned i = 0; i < 1000; i++) {
                uint64_t now_ns = clock_now_ns();
                CHECK(now_ns >= before_ns);
                before_ns = now_ns;
        }
}

int main(void)
{
        return RUN(CASE(time_only_goes_forward));
}
