/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of the 16-bit float formats. */
#pragma once

#include <stdint.h>

#include "ptx_ir.h"

float half_to_float(uint16_t bits);
double half_to_double(uint16_t bits);
uint16_t half_from_float(float value); /* to nearest */
uint16_t half_from_double(double value, enum rounding rounding);
float bhalf_to_float(uint16_t bits);
uint16_t bhalf_from_float(float value, enum rounding rounding);
/* The 8-bit formats: e5m2, or e4m3 whose largest number is 448 and which has no infinity. */
double byte_to_double(uint8_t bits, bool is_e5m2);
uint8_t byte_from_double(double value, bool is_e5m2); /* beyond the largest: the largest */
/* Rounds to a format of `mantissa` explicit bits and exponents down to `minimum` (of 1.x). */
double narrow_round(double value, int mantissa, int minimum, enum rounding rounding);
