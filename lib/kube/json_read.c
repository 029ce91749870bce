/* SPDX-License-Identifier: Apache-2.0 */
/* json_read: members of JSON objects that somebody else wrote. */
#include "json_read.h"

#include <string.h>

#include "str.h"

const char *json_read_text_or_null(const json_t *object, const char *key)
{
        return json_string_value(json_object_get(object, key));
}

const char *json_read_text(const json_t *object, const char *key)
{
        const char *text = json_read_text_or_null(object, key);

        return text ? text : "";
}

const char *json_read_text_in(const json_t *object, const char *first, const char *second)
{
        return json_read_text(json_object_get(object, first), second);
}

json_t *json_read_annotations(const json_t *object)
{
        return json_object_get(json_object_get(object, "metadata"), "annotations");
}

const char *json_read_annotation(const json_t *object, const char *name)
{
        return json_read_text_or_null(json_read_annotations(object), name);
}

bool json_read_copy(const json_t *object, const char *key, char *to, size_t to_bytes)
{
        const char *text = json_read_text_or_null(object, key);

        if (!text || strlen(text) >= to_bytes)
                return false;
        str_copy(to, to_bytes, text);
        return true;
}

bool json_read_is_true(const json_t *object, const char *key)
{
        return json_is_true(json_object_get(object, key));
}

json_int_t json_read_integer(const json_t *object, const char *key)
{
        return json_integer_value(json_object_get(object, key));
}

bool json_read_number(const json_t *object, const char *key, int64_t least, int64_t most,
                      int64_t *ret_number)
{
        const json_t *value = json_object_get(object, key);
        const json_int_t number = json_integer_value(value);

        if (!json_is_integer(value) || number < least || number > most)
                return false;
        *ret_number = number;
        return true;
}
