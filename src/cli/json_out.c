/* Writes JSON on stdout: commas, quotes and indentation are its business. */
#include "json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void print_quoted(const char *text)
{
        putchar('"');
        for (; *text; text++) {
                const unsigned char c = (unsigned char)*text;

                if (c == '"' || c == '\\')
                        printf("\\%c", c);
                else if (c < 0x20)
                        printf("\\u%04x", c);
                else
                        putchar(c);
        }
        putchar('"');
}

/* What stands before a value: comma, line, indentation, key. */
static void json_begin(struct json_out *json, const char *key)
{
        if (json->depth > 0)
                printf("%s\n%*s", json->is_first ? "" : ",", (int)json->depth * 2, "");
        json->is_first = false;
        if (key) {
                print_quoted(key);
                fputs(": ", stdout);
        }
}

void json_open(struct json_out *json, const char *key, char bracket)
{
        json_begin(json, key);
        putchar(bracket);
        json->depth++;
        json->is_first = true;
}

void json_close(struct json_out *json, char bracket)
{
        json->depth--;
        if (!json->is_first)
                printf("\n%*s", (int)json->depth * 2, "");
        putchar(bracket);
        json->is_first = false;
        if (json->depth == 0)
                putchar('\n');
}

void json_string(struct json_out *json, const char *key, const char *text)
{
        json_begin(json, key);
        print_quoted(text);
}

void json_number(struct json_out *json, const char *key, uint64_t number)
{
        json_begin(json, key);
        printf("%" PRIu64, number);
}

void json_signed(struct json_out *json, const char *key, int64_t number)
{
        json_begin(json, key);
        printf("%" PRId64, number);
}

void json_real(struct json_out *json, const char *key, double number)
{
        json_begin(json, key);
        printf("%.6g", isfinite(number) ? number : 0);
}

void json_bool(struct json_out *json, const char *key, bool value)
{
        json_begin(json, key);
        fputs(value ? "true" : "false", stdout);
}
