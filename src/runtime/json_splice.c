/* SPDX-License-Identifier: Apache-2.0 */
/* json_splice: a scanner that knows where values begin and end, and nothing else. */
#include "json_splice.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct span {
        size_t begin, end;
};

/* All of these stop at the NUL that ends the text. */
static size_t space_skip(const char *text, size_t at)
{
        return at + strspn(text + at, " \t\r\n");
}

static size_t string_skip(const char *text, size_t at)
{
        for (at++; text[at] && text[at] != '"'; at++)
                if (text[at] == '\\' && text[at + 1])
                        at++;
        return text[at] ? at + 1 : at;
}

static size_t nested_skip(const char *text, size_t at)
{
        size_t depth = 0;

        do {
                if (text[at] == '"') {
                        at = string_skip(text, at);
                        continue;
                }
                if (text[at] == '{' || text[at] == '[')
                        depth++;
                if (text[at] == '}' || text[at] == ']')
                        depth--;
                at++;
        } while (depth > 0 && text[at]);
        return at;
}

static size_t value_skip(const char *text, size_t at)
{
        if (text[at] == '"')
                return string_skip(text, at);
        if (text[at] == '{' || text[at] == '[')
                return nested_skip(text, at);
        return at + strcspn(text + at, ",]} \t\r\n");
}

static bool key_is(const char *text, struct span key, const char *name)
{
        const size_t length = strlen(name);

        return key.end - key.begin == length + 2 && memcmp(text + key.begin + 1, name, length) == 0;
}

/* The value of a member of the object at `at`. False: it has none of that name; then ret_value is
 * the empty place before the closing brace, and *ret_is_empty tells whether the object has others. */
static bool member_find(const char *text, size_t at, const char *name, struct span *ret_value,
                        bool *ret_is_empty)
{
        *ret_is_empty = true;
        for (at = space_skip(text, at + 1); text[at] == '"'; *ret_is_empty = false) {
                const struct span key = { at, string_skip(text, at) };
                const size_t colon = space_skip(text, key.end);
                const size_t begin = space_skip(text, colon + (text[colon] == ':'));

                *ret_value = (struct span){ begin, value_skip(text, begin) };
                if (key_is(text, key, name))
                        return true;
                at = space_skip(text, ret_value->end);
                if (text[at] == ',')
                        at = space_skip(text, at + 1);
        }
        *ret_value = (struct span){ at, at };
        return false;
}

static int span_replace(struct str *text, struct span span, const char *value)
{
        struct str made = { 0 };
        int r = str_append_bytes(&made, text->text, span.begin);

        if (r == 0)
                r = str_append(&made, value);
        if (r == 0)
                r = str_append(&made, text->text + span.end);
        if (r < 0) {
                str_done(&made);
                return r;
        }
        str_done(text);
        *text = made;
        return 0;
}

static int member_add(struct str *text, struct span at, bool is_first, const char *name,
                      const char *value)
{
        struct str member = { 0 };
        int r = str_appendf(&member, "%s\"%s\":%s", is_first ? "" : ",", name, value);

        if (r == 0)
                r = span_replace(text, at, member.text);
        str_done(&member);
        return r;
}

int json_splice_put(struct str *text, const char *const *path, const char *value)
{
        size_t at = space_skip(text->text, 0);

        for (; *path; path++) {
                const bool is_last = !path[1];
                struct span span;
                bool is_empty;

                if (text->text[at] != '{')
                        return -EBADMSG;
                if (!member_find(text->text, at, *path, &span, &is_empty)) {
                        if (text->text[span.begin] != '}')
                                return -EBADMSG;
                        const int r =
                                member_add(text, span, is_empty, *path, is_last ? value : "{}");
                        if (r < 0 || is_last)
                                return r;
                        path--; /* found, this time */
                        continue;
                }
                if (is_last)
                        return span_replace(text, span, value);
                at = span.begin;
        }
        return -EBADMSG;
}

/* "9223372036854775807" has as many digits as fit; one less always does. */
static bool number_is_large(const char *digits, size_t count)
{
        static const char most[] = "9223372036854775807";

        return count > sizeof most - 1 ||
               (count == sizeof most - 1 && memcmp(digits, most, count) > 0);
}

void json_splice_tame(char *text)
{
        enum { SURE_DIGITS = 18 };

        for (size_t at = 0; text[at];) {
                const size_t count = strspn(text + at, "0123456789");
                const char after = text[at + count];

                if (text[at] == '"') {
                        at = string_skip(text, at);
                } else if (count == 0) {
                        at++;
                } else {
                        /* A fraction is no whole number, however long; its digits are passed over. */
                        const bool is_whole = !after || strchr(",]} \t\r\n", after);

                        if (is_whole && number_is_large(text + at, count) &&
                            (at == 0 || !strchr(".eE+", text[at - 1])))
                                memset(text + at + SURE_DIGITS, ' ', count - SURE_DIGITS);
                        at += count;
                }
        }
}
