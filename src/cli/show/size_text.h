/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and names of GPUs as tables and screens show them. */
#pragma once

#include <stdint.h>

enum { SIZE_TEXT = 32 };

/* "0B", "512KiB", "202MiB", "1GiB", "39.4GiB": short rather than exact; "-" for SHARE_UNLIMITED. */
const char *size_text(uint64_t bytes, char text[static SIZE_TEXT]);
/* "0.2/1.0G", "100/1024M": both in one unit; "100M" where there is no whole (SHARE_UNLIMITED). */
const char *size_text_of(uint64_t bytes, uint64_t whole, char text[static SIZE_TEXT]);
/* "1.8G", "100M": in the unit that the whole is shown in. */
const char *size_text_part(uint64_t bytes, uint64_t whole, char text[static SIZE_TEXT]);

/* Without the maker's name, where that is NVIDIA as on all others. */
const char *gpu_short_name(const char *name);
