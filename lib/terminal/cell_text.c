/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a terminal, character by character. */
#define _XOPEN_SOURCE 700 /* wcwidth() */
#include "cell_text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { SENTENCE_BYTES = 8192 }; /* with a path or two */

struct character {
        const char *bytes; /* "?": it is not shown as it is */
        unsigned length, taken, width;
};

static struct {
        bool is_ready, is_utf8;
} charset;

/* The user's character set; UTF-8 where nothing names one. Numbers stay as they are in C. */
static bool charset_is_utf8(void)
{
        static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
        bool is_said = false;

        if (charset.is_ready)
                return charset.is_utf8;
        charset.is_ready = true;
        for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++) {
                const char *value = getenv(variables[i]);

                is_said |= value && *value;
        }
        if (!setlocale(LC_CTYPE, is_said ? "" : "C.UTF-8"))
                setlocale(LC_CTYPE, "");
        charset.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
        return charset.is_utf8;
}

bool cell_text_is_utf8(void)
{
        return charset_is_utf8();
}

/* Bytes of the UTF-8 sequence at the text and its character; 0: it is none. */
static unsigned utf8_decode(const unsigned char *text, unsigned *ret_code)
{
        static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        const unsigned length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
        unsigned code = text[0] & (0x7f >> length);

        if (text[0] > 0xf4)
                return 0;
        for (unsigned i = 1; i < length; i++) {
                if ((text[i] & 0xc0) != 0x80)
                        return 0;
                code = code << 6 | (text[i] & 0x3f);
        }
        if (length == 0 || code < least[length] || code > 0x10ffff ||
            (code >= 0xd800 && code < 0xe000))
                return 0;
        *ret_code = code;
        return length;
}

unsigned cell_text_bytes(const char *text)
{
        unsigned code;

        return (unsigned char)*text < 0x80 ? *text != '\0'
                                           : utf8_decode((const unsigned char *)text, &code);
}

/* The text is the beginning of a character, and no more. */
static bool is_begun(const char *text)
{
        const unsigned char first = (unsigned char)*text;
        const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
        size_t there = 1;

        while (((unsigned char)text[there] & 0xc0) == 0x80)
                there++;
        return first <= 0xf4 && there < length && !text[there];
}

void cell_text_trim(char *text)
{
        while (*text) {
                const unsigned bytes = cell_text_bytes(text);

                if (bytes == 0 && is_begun(text))
                        *text = '\0';
                text += bytes ? bytes : *text != '\0';
        }
}

/* Invisible ones that change what stands around them: directions, joiners, marks of order. */
static bool is_format(unsigned code)
{
        return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
               (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || code == 0xad ||
               (code >= 0x80 && code < 0xa0) || code >= 0xe0000;
}

static struct character character_at(const char *text)
{
        const unsigned char first = (unsigned char)*text;
        unsigned code = 0;

        if (first < 0x80)
                return first < ' ' || first == 0x7f ? (struct character){ "?", 1, 1, 1 }
                                                    : (struct character){ text, 1, 1, 1 };
        const unsigned length = utf8_decode((const unsigned char *)text, &code);
        const int width =
                length && charset_is_utf8() && !is_format(code) ? wcwidth((wchar_t)code) : -1;

        if (width < 1)
                return (struct character){ "?", 1, length ? length : 1, 1 };
        return (struct character){ text, length, length, (unsigned)width };
}

unsigned cell_text_width(const char *text)
{
        unsigned width = 0;

        while (*text) {
                const struct character one = character_at(text);

                width += one.width;
                text += one.taken;
        }
        return width;
}

unsigned cell_text_fit(const char *text, unsigned columns, char *to, size_t size)
{
        const char *end = charset_is_utf8() ? "…" : "~";
        const bool is_cut = cell_text_width(text) > columns;
        const unsigned most = is_cut && columns ? columns - 1 : columns;
        unsigned width = 0;
        size_t used = 0;

        while (*text) {
                const struct character one = character_at(text);

                if (width + one.width > most || used + one.length + strlen(end) >= size)
                        break;
                memcpy(to + used, one.bytes, one.length);
                used += one.length;
                width += one.width;
                text += one.taken;
        }
        to[used] = '\0';
        if (!*text || width >= columns)
                return width;
        memcpy(to + used, end, strlen(end) + 1);
        return width + 1;
}

void cell_text_clean(const char *text, char *to, size_t size)
{
        size_t used = 0;
        unsigned code;

        while (*text) {
                const unsigned char first = (unsigned char)*text;
                unsigned length = first < 0x80 ? first >= ' ' && first != 0x7f
                                               : utf8_decode((const unsigned char *)text, &code);
                const unsigned taken = length ? length : 1;

                if (length > 1 && is_format(code))
                        length = 0;
                if (used + (length ? length : 1) >= size)
                        break;
                memcpy(to + used, length ? text : "?", length ? length : 1);
                used += length ? length : 1;
                text += taken;
        }
        to[used] = '\0';
}

void cell_text_print(FILE *to, const char *format, va_list arguments)
{
        char text[SENTENCE_BYTES], clean[SENTENCE_BYTES];

        vsnprintf(text, sizeof text, format, arguments);
        cell_text_clean(text, clean, sizeof clean);
        fprintf(to, "%s\n", clean);
}
