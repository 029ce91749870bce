/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of ptx_half: every half, and every tie between two of them. */
#include "ptx_half.h"

#include <math.h>

#include "unit.h"

TEST(every_half_comes_back)
{
        for (unsigned bits = 0; bits < 65536; bits++) {
                float value = half_to_float((uint16_t)bits);

                if ((bits & 0x7fff) > 0x7c00) {
                        CHECK(isnan(value));
                        continue;
                }
                CHECK_EQ(half_from_float(value), bits);
                CHECK_EQ(half_from_double((double)value, ROUND_ZERO), bits);
        }
        CHECK(half_to_float(0x3c00) == 1.0f);
        CHECK(half_to_float(0xc500) == -5.0f);
        CHECK(half_to_float(0x0001) == 0x1p-24f);
        CHECK(half_to_float(0x7bff) == 65504.0f);
        CHECK(isinf(half_to_float(0x7c00)));
}

TEST(ties_go_to_even_and_others_to_the_nearest)
{
        for (unsigned bits = 0; bits < 0x7bff; bits++) {
                float low = half_to_float((uint16_t)bits),
                      high = half_to_float((uint16_t)(bits + 1));
                float middle = (low + high) / 2;
                unsigned even = bits & 1 ? bits + 1 : bits;

                CHECK_EQ(half_from_float(middle), even);
                CHECK_EQ(half_from_float(nextafterf(middle, 0)), bits);
                CHECK_EQ(half_from_float(nextafterf(middle, 1e9f)), bits + 1);
                CHECK_EQ(half_from_float(-middle), even | 0x8000);
                /* A double just off the tie must not be rounded to the tie first. */
                CHECK_EQ(half_from_double(nextafter((double)middle, 0), ROUND_NEAREST), bits);
                CHECK_EQ(half_from_double(nextafter((double)middle, 1e9), ROUND_NEAREST), bits + 1);
                CHECK_EQ(half_from_double((double)middle, ROUND_UP), bits + 1);
                CHECK_EQ(half_from_double((double)middle, ROUND_DOWN), bits);
        }
}

TEST(what_is_too_large_becomes_infinite_where_rounding_leads_there)
{
        CHECK_EQ(half_from_float(65519.0f), 0x7bff);
        CHECK_EQ(half_from_float(65520.0f), 0x7c00);
        CHECK_EQ(half_from_float(-1e30f), 0xfc00);
        CHECK_EQ(half_from_double(1e30, ROUND_ZERO), 0x7bff);
        CHECK_EQ(half_from_double(-1e30, ROUND_UP), 0xfbff);
        CHECK_EQ(half_from_float((float)NAN), 0x7fff);
}

TEST(brain_floats_are_the_upper_half_of_a_single)
{
        CHECK_EQ(bhalf_from_float(1.0f, ROUND_NEAREST), 0x3f80);
        CHECK_EQ(bhalf_from_float(0x1.01p0f, ROUND_NEAREST), 0x3f80);
        CHECK_EQ(bhalf_from_float(0x1.03p0f, ROUND_NEAREST), 0x3f82);
        CHECK_EQ(bhalf_from_float(0x1.03p0f, ROUND_ZERO), 0x3f81);
        CHECK(bhalf_to_float(0xc0a0) == -5.0f);
}

int main(void)
{
        return RUN(CASE(every_half_comes_back), CASE(ties_go_to_even_and_others_to_the_nearest),
                   CASE(what_is_too_large_becomes_infinite_where_rounding_leads_there),
                   CASE(brain_floats_are_the_upper_half_of_a_single));
}
