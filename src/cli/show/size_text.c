/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, short. */
#include "size_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "share_layout.h"
#include "str.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static double in_gib(uint64_t bytes)
{
        return (double)bytes / (double)GIB;
}

const char *size_text(uint64_t bytes, char text[static SIZE_TEXT])
{
        if (bytes == SHARE_UNLIMITED)
                snprintf(text, SIZE_TEXT, "-");
        else if (bytes && bytes % GIB == 0)
                snprintf(text, SIZE_TEXT, "%" PRIu64 "GiB", bytes / GIB);
        else if (bytes >= 10 * GIB)
                snprintf(text, SIZE_TEXT, "%.1fGiB", in_gib(bytes));
        else if (bytes >= MIB)
                snprintf(text, SIZE_TEXT, "%" PRIu64 "MiB", bytes / MIB);
        else if (bytes >= KIB)
                snprintf(text, SIZE_TEXT, "%" PRIu64 "KiB", bytes / KIB);
        else
                snprintf(text, SIZE_TEXT, "%" PRIu64 "B", bytes);
        return text;
}

const char *size_text_part(uint64_t bytes, uint64_t whole, char text[static SIZE_TEXT])
{
        if (whole >= 10 * GIB)
                snprintf(text, SIZE_TEXT, "%.1fG", in_gib(bytes));
        else
                snprintf(text, SIZE_TEXT, "%" PRIu64 "M", bytes / MIB);
        return text;
}

const char *size_text_of(uint64_t bytes, uint64_t whole, char text[static SIZE_TEXT])
{
        if (whole == SHARE_UNLIMITED)
                return size_text_part(bytes, bytes, text);
        if (whole >= 10 * GIB)
                snprintf(text, SIZE_TEXT, "%.1f/%.1fG", in_gib(bytes), in_gib(whole));
        else
                snprintf(text, SIZE_TEXT, "%" PRIu64 "/%" PRIu64 "M", bytes / MIB, whole / MIB);
        return text;
}

const char *gpu_short_name(const char *name)
{
        return str_starts_with(name, "NVIDIA ") ? name + sizeof "NVIDIA " - 1 : name;
}
