/* Conversions of the 16-bit float formats. */
#pragma once

#include <stdint.h>

#include "ptx_ir.h"

double half_to_double(uint16_t bits);
uint16_t half_from_double(double value, enum rounding rounding);
float bhalf_to_float(uint16_t bits);
uint16_t bhalf_from_float(float value, enum rounding rounding);
/* Rounds to a format of `mantissa` explicit bits and exponents down to `minimum` (of 1.x). */
double narrow_round(double value, int mantissa, int minimum, enum rounding rounding);
