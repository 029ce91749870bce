/* SPDX-License-Identifier: Apache-2.0 */
/* json_text: finds its way in JSON without making a tree of it. Brackets and strings are all that is
 * understood: what is kept is parsed by somebody who knows the rest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "str.h"

const char *json_text_space(const char *at, const char *end); /* behind white space */
/* Behind the string that begins here; NULL: none begins, or it does not end. */
const char *json_text_string(const char *at, const char *end);

struct json_span {
        const char *begin, *end;
};
bool json_span_is(const struct json_span *span, const char *text);
/* The next key and value of an object, behind its bracket. 1: there is one; 0: it ended; −1: no JSON, or it does
 * not end: then the value has no end, and a beginning if there is one. */
int json_text_member(const char **at, const char *end, struct json_span *key,
                     struct json_span *value);

/* Appends the text without the members of these names (NULL ends them), wherever they stand. -EPROTO: a
 * string or a value does not end; -ENOMEM. */
int json_text_without(const char *text, size_t count, const char *const *names, struct str *to);
