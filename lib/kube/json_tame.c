/* SPDX-License-Identifier: Apache-2.0 */
/* What JSON's own rules, or our reader's, do not allow: replaced, byte by byte. */
#include "json_tame.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char unknown[] = "\\ufffd";

/* How many bytes the character takes that begins here; 0: none does. */
static size_t utf8_length(const char *text, const char *end)
{
        const unsigned char *at = (const unsigned char *)text;
        const size_t count = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;

        if (count == 0 || *at > 0xf4 || count > (size_t)(end - text))
                return 0;
        for (size_t i = 1; i < count; i++)
                if ((at[i] & 0xc0) != 0x80)
                        return 0;
        /* Longer than it needs to be, half a character, or beyond the last one. */
        if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
            (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
                return 0;
        return count;
}

/* The code of "\uXXXX"; −1: no such escape. */
static long escape_code(const char *at, const char *end)
{
        char digits[5] = "";

        if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
                return -1;
        memcpy(digits, at + 2, 4);
        for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)digits[i]))
                        return -1;
        return strtol(digits, NULL, 16);
}

/* How many bytes the escape takes; *ret_is_good: it stands for a character. */
static size_t escape_length(const char *at, const char *end, bool *ret_is_good)
{
        const long code = escape_code(at, end);
        const bool is_first = code >= 0xd800 && code < 0xdc00;

        *ret_is_good = true;
        if (code < 0)
                return end - at < 2 ? 1 : 2; /* \" and the like, or for the reader to refuse */
        if (is_first) {
                const long second = escape_code(at + 6, end);

                *ret_is_good = second >= 0xdc00 && second < 0xe000;
                return *ret_is_good ? 12 : 6;
        }
        *ret_is_good = code != 0 && (code < 0xdc00 || code >= 0xe000);
        return 6;
}

/* Within a string: how many bytes the next character takes, whether it may stay. */
static size_t char_length(const char *at, const char *end, bool *ret_is_good)
{
        if (*at == '\\')
                return escape_length(at, end, ret_is_good);
        const size_t count = (unsigned char)*at < ' ' ? 0 : utf8_length(at, end);

        *ret_is_good = count > 0;
        return count ? count : 1;
}

static const char *string_tame(const char *at, const char *end, struct str *to, int *r)
{
        const char *kept = at++;

        while (at < end && *at != '"' && *r == 0) {
                bool is_good;
                const size_t count = char_length(at, end, &is_good);

                if (!is_good) {
                        *r = str_append_bytes(to, kept, (size_t)(at - kept));
                        if (*r == 0)
                                *r = str_append(to, unknown);
                        kept = at + count;
                }
                at += count;
        }
        at += at < end;
        if (*r == 0)
                *r = str_append_bytes(to, kept, (size_t)(at - kept));
        return at;
}

static const char *number_tame(const char *at, struct str *to, int *r)
{
        const size_t count = strspn(at, "+-0123456789.eE");
        const bool is_negative = *at == '-';

        errno = 0;
        if (strcspn(at, ".eE") < count) {
                if (fabs(strtod(at, NULL)) != HUGE_VAL)
                        *r = str_append_bytes(to, at, count);
                else
                        *r = str_append(to, is_negative ? "-1e308" : "1e308");
        } else if (strtoll(at, NULL, 10), errno != ERANGE) {
                *r = str_append_bytes(to, at, count);
        } else {
                *r = str_append(to, is_negative ? "-9223372036854775807" : "9223372036854775807");
        }
        return at + count;
}

int json_tame(const char *text, size_t count, struct str *to)
{
        const char *at = text, *const end = text + count;
        int r = 0;

        while (at < end && r == 0) {
                if (*at == '"') {
                        at = string_tame(at, end, to, &r);
                } else if (*at == '-' || isdigit((unsigned char)*at)) {
                        at = number_tame(at, to, &r);
                } else {
                        r = str_append_bytes(to, at, 1);
                        at++;
                }
        }
        return r;
}
