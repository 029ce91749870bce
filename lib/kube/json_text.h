/* json_text: finds its way in JSON without making a tree of it. Brackets and strings are all that is
 * understood: what is kept is parsed by somebody who knows the rest. */
#pragma once

#include <stddef.h>

#include "str.h"

const char *json_text_space(const char *at, const char *end); /* behind white space */
/* Behind the string that begins here; NULL: none begins, or it does not end. */
const char *json_text_string(const char *at, const char *end);
/* Behind the value that begins here; NULL: it does not end. */
const char *json_text_value(const char *at, const char *end);

/* Appends the text without the members of these names (NULL ends them), wherever they stand. -EPROTO: a
 * string or a value does not end; -ENOMEM. */
int json_text_without(const char *text, size_t count, const char *const *names, struct str *to);
