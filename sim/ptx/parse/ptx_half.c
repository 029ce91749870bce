/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of 16-bit and 8-bit floats: rounding is exact, from a double in one step. */
#include "ptx_half.h"

#include <math.h>
#include <string.h>

float half_to_float(uint16_t bits)
{
        uint32_t sign = (uint32_t)(bits & 0x8000) << 16, remainder = (uint32_t)(bits & 0x7fff)
                                                                     << 13;
        uint32_t word = remainder >= 0x0f800000 ? remainder | 0x7f800000 : remainder + (112u << 23);
        float value, least = 0x1p-14f;

        if (remainder < 0x00800000) { /* subnormal: as a fraction of the least normal number */
                word = remainder | 113u << 23;
                memcpy(&value, &word, sizeof value);
                value -= least;
                memcpy(&word, &value, sizeof word);
        }
        word |= sign;
        memcpy(&value, &word, sizeof value);
        return value;
}

double half_to_double(uint16_t bits)
{
        return (double)half_to_float(bits);
}

/* To nearest, ties to even; integers only, so that compilers can vectorise it. */
uint16_t half_from_float(float value)
{
        uint32_t bits, size, shift, digits, remainder, half;
        uint16_t sign;

        memcpy(&bits, &value, sizeof bits);
        sign = (uint16_t)(bits >> 16 & 0x8000);
        size = bits & 0x7fffffff;
        if (size > 0x7f800000)
                return 0x7fff;
        if (size >= 0x477ff000) /* rounds to 65536 */
                return sign | 0x7c00;
        if (size >= 0x38800000) /* normal */
                return (uint16_t)(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
        shift = 126 - (size >> 23);
        if (shift > 24)
                return sign;
        digits = (size & 0x7fffff) | 0x800000;
        remainder = digits & ((1u << shift) - 1);
        half = 1u << (shift - 1);
        digits >>= shift;
        return (uint16_t)(sign |
                          (digits + (remainder > half || (remainder == half && digits & 1))));
}

static double round_units(double units, enum rounding rounding)
{
        double below = floor(units), remainder = units - below;

        switch (rounding) {
        case ROUND_ZERO:
                return trunc(units);
        case ROUND_DOWN:
                return below;
        case ROUND_UP:
                return ceil(units);
        case ROUND_AWAY:
                return units < 0 ? -floor(-units + 0.5) : floor(units + 0.5);
        case ROUND_NEAREST:
                break;
        }
        if (remainder > 0.5 || (remainder == 0.5 && fmod(below, 2.0) != 0.0))
                return below + 1;
        return below;
}

double narrow_round(double value, int mantissa, int minimum, enum rounding rounding)
{
        int exponent;

        if (value == 0 || !isfinite(value))
                return value;
        frexp(value, &exponent);
        exponent--;
        if (exponent < minimum)
                exponent = minimum;
        return ldexp(round_units(ldexp(value, mantissa - exponent), rounding), exponent - mantissa);
}

/* What lies beyond the largest number depends on where rounding leads. */
static bool overflow_is_infinite(bool is_negative, enum rounding rounding)
{
        return rounding == ROUND_NEAREST || rounding == ROUND_AWAY ||
               (rounding == ROUND_UP && !is_negative) || (rounding == ROUND_DOWN && is_negative);
}

uint16_t half_from_double(double value, enum rounding rounding)
{
        uint16_t sign = signbit(value) ? 0x8000 : 0;
        double size;
        int exponent;

        if (isnan(value))
                return 0x7fff;
        if (rounding == ROUND_NEAREST && (double)(float)value == value)
                return half_from_float((float)value);
        size = fabs(narrow_round(value, 10, -14, rounding));
        if (isinf(value))
                return sign | 0x7c00;
        if (size > 65504.0)
                return sign | (overflow_is_infinite(sign, rounding) ? 0x7c00 : 0x7bff);
        if (size < ldexp(1, -14))
                return (uint16_t)(sign | (uint16_t)ldexp(size, 24));
        frexp(size, &exponent);
        return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(size, 11 - exponent) & 1023));
}

float bhalf_to_float(uint16_t bits)
{
        uint32_t wide = (uint32_t)bits << 16;
        float value;

        memcpy(&value, &wide, sizeof value);
        return value;
}

uint16_t bhalf_from_float(float value, enum rounding rounding)
{
        uint32_t bits, remainder;
        bool is_up;

        memcpy(&bits, &value, sizeof bits);
        if (isnan(value))
                return 0x7fff;
        remainder = bits & 0xffff;
        bits >>= 16;
        if (isinf(value))
                return (uint16_t)bits;
        switch (rounding) {
        case ROUND_ZERO:
                is_up = false;
                break;
        case ROUND_DOWN:
                is_up = remainder && bits & 0x8000;
                break;
        case ROUND_UP:
                is_up = remainder && !(bits & 0x8000);
                break;
        case ROUND_AWAY:
                is_up = remainder >= 0x8000;
                break;
        default:
                is_up = remainder > 0x8000 || (remainder == 0x8000 && bits & 1);
        }
        return (uint16_t)(bits + is_up);
}

double byte_to_double(uint8_t bits, bool is_e5m2)
{
        int exponent = bits >> 3 & 15, fraction = bits & 7;
        double value;

        if (is_e5m2) /* the upper half of a half */
                return half_to_double((uint16_t)(bits << 8));
        if ((bits & 0x7f) == 0x7f)
                return (double)NAN;
        value = exponent ? ldexp(fraction + 8, exponent - 10) : ldexp(fraction, -9);
        return bits & 0x80 ? -value : value;
}

uint8_t byte_from_double(double value, bool is_e5m2)
{
        uint8_t sign = signbit(value) ? 0x80 : 0;
        double size;
        int exponent;

        if (isnan(value))
                return 0x7f;
        if (is_e5m2) {
                size = fabs(narrow_round(value, 2, -14, ROUND_NEAREST));
                size = size > 57344.0 ? 57344.0 : size;
                return (uint8_t)(sign | half_from_double(size, ROUND_NEAREST) >> 8);
        }
        size = fabs(narrow_round(value, 3, -6, ROUND_NEAREST));
        if (size > 448.0)
                size = 448.0;
        if (size < ldexp(1, -6))
                return (uint8_t)(sign | (unsigned)ldexp(size, 9));
        frexp(size, &exponent);
        return (uint8_t)(sign | (exponent + 6) << 3 | ((int)ldexp(size, 4 - exponent) & 7));
}
