/* SPDX-License-Identifier: Apache-2.0 */
/* json_tame: JSON of others' making, made such that our reader takes it. */
#pragma once

#include <stddef.h>

#include "str.h"

/* Appends the text with U+FFFD for every NUL, control character, half of a character and byte that is no
 * UTF-8 in its strings, and the largest number for every larger one. A string with U+FFFD is no name and no
 * amount: nobody takes it for the one that ends before the NUL. text[count] is NUL. -ENOMEM. */
int json_tame(const char *text, size_t count, struct str *to);
