/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON on stdout: commas, quotes and indentation are its business. */
#include "json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cell_text.h"

/* Names of programs may be any bytes; JSON is UTF-8. */
static void print_quoted(const char *text)
{
        putchar('"');
        while (*text) {
                const unsigned char c = (unsigned char)*text;
                const unsigned bytes = cell_text_bytes(text);

                if (c == '"' || c == '\\')
                        printf("\\%c", c);
                else if (c < 0x20)
                        printf("\\u%04x", c);
                else
                        printf("%.*s", bytes ? (int)bytes : 3, bytes ? text : "\uFFFD");
                text += bytes ? bytes : 1;
        }
        putchar('"');
}

/* What stands before a value: comma, line, indentation, key. */
static void json_out_begin(struct json_out *json, const char *key)
{
        if (json->depth > 0)
                fputs(json->is_first ? "" : json->is_line ? ", " : ",", stdout);
        if (json->depth > 0 && !json->is_line)
                printf("\n%*s", (int)json->depth * 2, "");
        json->is_first = false;
        if (key) {
                print_quoted(key);
                fputs(": ", stdout);
        }
}

void json_out_open(struct json_out *json, const char *key, char bracket)
{
        json_out_begin(json, key);
        putchar(bracket);
        json->depth++;
        json->is_first = true;
}

void json_out_close(struct json_out *json, char bracket)
{
        json->depth--;
        if (!json->is_first && !json->is_line)
                printf("\n%*s", (int)json->depth * 2, "");
        putchar(bracket);
        json->is_first = false;
        if (json->depth == 0)
                putchar('\n');
}

void json_out_string(struct json_out *json, const char *key, const char *text)
{
        json_out_begin(json, key);
        print_quoted(text);
}

void json_out_number(struct json_out *json, const char *key, uint64_t number)
{
        json_out_begin(json, key);
        printf("%" PRIu64, number);
}

void json_out_signed(struct json_out *json, const char *key, int64_t number)
{
        json_out_begin(json, key);
        printf("%" PRId64, number);
}

void json_out_real(struct json_out *json, const char *key, double number)
{
        json_out_begin(json, key);
        printf("%.6g", isfinite(number) ? number : 0);
}

void json_out_bool(struct json_out *json, const char *key, bool value)
{
        json_out_begin(json, key);
        fputs(value ? "true" : "false", stdout);
}

void json_out_null(struct json_out *json, const char *key)
{
        json_out_begin(json, key);
        fputs("null", stdout);
}
