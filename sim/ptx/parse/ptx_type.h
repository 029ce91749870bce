/* SPDX-License-Identifier: Apache-2.0 */
/* PTX's fundamental types: their names and widths. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum type {
        TYPE_NONE,
        TYPE_B8,
        TYPE_U8,
        TYPE_S8,
        TYPE_B16,
        TYPE_U16,
        TYPE_S16,
        TYPE_F16,
        TYPE_BF16,
        TYPE_B32,
        TYPE_U32,
        TYPE_S32,
        TYPE_F32,
        TYPE_F16X2,
        TYPE_BF16X2,
        TYPE_TF32,
        TYPE_B64,
        TYPE_U64,
        TYPE_S64,
        TYPE_F64,
        TYPE_B128,
        TYPE_PRED,
        TYPE_COUNT,
};

enum type type_find(const char *text, size_t length); /* TYPE_NONE when it names no type */
unsigned type_width(enum type type);                  /* bytes; 0 for a predicate */
bool type_is_signed(enum type type);
bool type_is_float(enum type type);
