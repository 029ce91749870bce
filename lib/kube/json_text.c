/* SPDX-License-Identifier: Apache-2.0 */
/* JSON by brackets and strings. */
#include "json_text.h"

#include <errno.h>
#include <string.h>

const char *json_text_space(const char *at, const char *end)
{
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
                at++;
        return at;
}

const char *json_text_string(const char *at, const char *end)
{
        if (at == end || *at != '"')
                return NULL;
        for (at++; at < end && *at != '"'; at++)
                if (*at == '\\')
                        at++;
        return at < end ? at + 1 : NULL;
}

/* Behind the value that begins here; NULL: it does not end. */
static const char *json_text_value(const char *at, const char *end)
{
        unsigned depth = 0;

        while (at < end) {
                if (*at == '"') {
                        at = json_text_string(at, end);
                        if (!at)
                                return NULL;
                } else if (*at == '{' || *at == '[') {
                        depth++;
                        at++;
                } else if (*at == '}' || *at == ']') {
                        if (depth == 0)
                                return at;
                        depth--;
                        at++;
                } else if (*at == ',' && depth == 0) {
                        return at;
                } else {
                        at++;
                        continue;
                }
                if (depth == 0)
                        return at;
        }
        return NULL;
}

bool json_span_is(const struct json_span *span, const char *text)
{
        const size_t count = (size_t)(span->end - span->begin);

        return count == strlen(text) && memcmp(span->begin, text, count) == 0;
}

int json_text_member(const char **at, const char *end, struct json_span *key,
                     struct json_span *value)
{
        const char *next = json_text_space(*at, end);

        *value = (struct json_span){ NULL, NULL };
        if (next < end && *next == ',')
                next = json_text_space(next + 1, end);
        if (next < end && *next == '}')
                return 0;
        key->begin = next + 1;
        next = json_text_string(next, end);
        if (!next)
                return -1;
        key->end = next - 1;
        next = json_text_space(next, end);
        if (next == end || *next != ':')
                return -1;
        value->begin = json_text_space(next + 1, end);
        value->end = *at = json_text_value(value->begin, end);
        return value->end ? 1 : -1;
}

/* Bit per letter with which a name begins: most keys need no more than a look at it. */
static uint64_t firsts_of(const char *const *names)
{
        uint64_t firsts = 0;

        for (; *names; names++)
                firsts |= UINT64_C(1) << (**names & 63);
        return firsts;
}

static bool is_named(const char *key, size_t count, const char *const *names)
{
        for (; *names; names++)
                if (**names == *key && strlen(*names) == count && memcmp(*names, key, count) == 0)
                        return true;
        return false;
}

/* Behind a member that is left out, whose value begins here, and its comma. One before it goes where none
 * follows. */
static const char *member_drop(const char *value, const char *end, struct str *to)
{
        const char *behind = json_text_value(value, end);

        if (!behind)
                return NULL;
        behind = json_text_space(behind, end);
        if (behind < end && *behind == ',')
                return json_text_space(behind + 1, end);
        size_t last = to->length;

        while (last > 0 && json_text_space(&to->text[last - 1], &to->text[last]) == &to->text[last])
                last--;
        if (last > 0 && to->text[last - 1] == ',')
                to->length = last - 1;
        return behind;
}

int json_text_without(const char *text, size_t count, const char *const *names, struct str *to)
{
        const char *const end = text + count;
        const char *kept = text, *at = text;
        const uint64_t firsts = firsts_of(names);

        while ((at = memchr(at, '"', (size_t)(end - at)))) {
                const char *behind = json_text_string(at, end);

                if (!behind)
                        return -EPROTO;
                const char *colon = json_text_space(behind, end);

                if (colon == end || *colon != ':' || !(firsts >> (at[1] & 63) & 1) ||
                    !is_named(at + 1, (size_t)(behind - at) - 2, names)) {
                        at = behind;
                        continue;
                }
                const int r = str_append_bytes(to, kept, (size_t)(at - kept));

                if (r < 0)
                        return r;
                kept = at = member_drop(json_text_space(colon + 1, end), end, to);
                if (!at)
                        return -EPROTO;
        }
        return str_append_bytes(to, kept, (size_t)(end - kept));
}
