/* SPDX-License-Identifier: Apache-2.0 */
/* Fields, one after the other: there are few, and a search is cheaper than a table. */
#include "fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What would let one field pass for two. Everything else is the reader's business. */
static bool is_clean(const char *bytes, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (bytes[i] == '\0' || bytes[i] == '\r' || bytes[i] == '\n')
                        return false;
        return true;
}

int fields_add(struct fields *fields, const char *name, size_t name_length, const char *value,
               size_t value_length)
{
        const size_t before = fields->bytes.length;
        int r;

        if (name_length + value_length + 2 > FIELDS_BYTES - before)
                return -EMSGSIZE;
        if (name_length == 0 || !is_clean(name, name_length) || !is_clean(value, value_length))
                return -EINVAL;
        r = str_append_bytes(&fields->bytes, name, name_length);
        for (size_t i = before; r == 0 && i < fields->bytes.length; i++)
                fields->bytes.text[i] = (char)tolower((unsigned char)fields->bytes.text[i]);
        if (r == 0)
                r = str_append_bytes(&fields->bytes, "", 1);
        if (r == 0)
                r = str_append_bytes(&fields->bytes, value, value_length);
        if (r == 0)
                r = str_append_bytes(&fields->bytes, "", 1);
        if (r < 0)
                fields->bytes.length = before;
        return r;
}

const char *fields_get(const struct fields *fields, const char *name)
{
        const char *at = fields->bytes.text;
        const char *const end = at + fields->bytes.length;

        while (at < end) {
                const char *value = at + strlen(at) + 1;

                if (strcmp(at, name) == 0)
                        return value;
                at = value + strlen(value) + 1;
        }
        return NULL;
}

void fields_done(struct fields *fields)
{
        str_done(&fields->bytes);
}
