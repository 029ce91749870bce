/* SPDX-License-Identifier: Apache-2.0 */
/* fields: the names and values of a message's head, HTTP/1 or HTTP/2, up to a size. Names are in
 * small letters; what HTTP/1 has in its first line is here as :method, :path, :authority, :status. */
#pragma once

#include <stddef.h>

#include "str.h"

enum {
        FIELDS_BYTES = 16384, /* of one head */
};

struct fields {
        struct str bytes; /* name NUL value NUL … */
};

/* -EMSGSIZE: the head is too large; -EINVAL: a byte that may not be in a field; -ENOMEM. */
int fields_add(struct fields *fields, const char *name, size_t name_length, const char *value,
               size_t value_length);
const char *fields_get(const struct fields *fields, const char *name); /* the first, or NULL */
void fields_done(struct fields *fields);
