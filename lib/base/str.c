/* SPDX-License-Identifier: Apache-2.0 */
/* str: a growing string, and the few questions about text that everybody asks. */
#include "str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int str_reserve(struct str *str, size_t more)
{
        size_t needed = str->length + more + 1;

        if (needed <= str->capacity)
                return 0;

        size_t capacity = str->capacity ? str->capacity : 64;
        while (capacity < needed)
                capacity *= 2;
        char *text = realloc(str->text, capacity);
        if (!text)
                return -ENOMEM;
        str->text = text;
        str->capacity = capacity;
        return 0;
}

int str_append_bytes(struct str *str, const char *bytes, size_t count)
{
        int r = str_reserve(str, count);

        if (r < 0)
                return r;
        if (count)
                memcpy(str->text + str->length, bytes, count);
        str->length += count;
        str->text[str->length] = '\0';
        return 0;
}

int str_append(struct str *str, const char *text)
{
        return str_append_bytes(str, text, strlen(text));
}

int str_appendf(struct str *str, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        int length = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (length < 0)
                return -EINVAL;

        int r = str_reserve(str, (size_t)length);
        if (r < 0)
                return r;
        va_start(args, format);
        vsnprintf(str->text + str->length, (size_t)length + 1, format, args);
        va_end(args);
        str->length += (size_t)length;
        return 0;
}

void str_done(struct str *str)
{
        free(str->text);
        *str = (struct str){ 0 };
}

bool str_is_equal(const char *a, const char *b)
{
        return a == b || (a && b && !strcmp(a, b));
}

bool str_starts_with(const char *text, const char *prefix)
{
        return !strncmp(text, prefix, strlen(prefix));
}

int str_parse_u64(const char *text, uint64_t *ret_number)
{
        uint64_t number = 0;

        if (!*text)
                return -EINVAL;
        for (; *text; text++) {
                if (*text < '0' || *text > '9')
                        return -EINVAL;
                if (__builtin_mul_overflow(number, 10, &number) ||
                    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
                        return -ERANGE;
        }
        *ret_number = number;
        return 0;
}

void str_copy(char *to, size_t to_bytes, const char *from)
{
        size_t length = strnlen(from, to_bytes - 1);

        memcpy(to, from, length);
        to[length] = '\0';
}

void str_tame(char *text)
{
        for (unsigned char *p = (unsigned char *)text; *p; p++) {
                /* U+0080 to U+009F command a terminal, too. */
                const bool is_c1 = *p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0;

                if (is_c1)
                        p[1] = '?';
                if (is_c1 || *p < ' ' || *p == 0x7f)
                        *p = '?';
        }
}
