/* SPDX-License-Identifier: Apache-2.0 */
/* json_read: members of JSON objects that somebody else wrote. A member that is absent, or of another type,
 * reads as nothing. What is returned is the object's. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* autojson json_t *object = …; is released at the end of its scope. */
#define autojson __attribute__((cleanup(json_decrefp)))

/* "": none. */
const char *json_read_text(const json_t *object, const char *key);
/* The same of object[first][second]. */
const char *json_read_text_in(const json_t *object, const char *first, const char *second);
/* NULL: none. */
const char *json_read_text_or_null(const json_t *object, const char *key);

/* metadata.annotations of a Kubernetes object; NULL: it has none. */
json_t *json_read_annotations(const json_t *object);
/* One of them; NULL: none. */
const char *json_read_annotation(const json_t *object, const char *name);

/* Copies a text; false: there is none, or it does not fit. */
bool json_read_copy(const json_t *object, const char *key, char *to, size_t to_bytes);
bool json_read_is_true(const json_t *object, const char *key);
/* 0: none. */
json_int_t json_read_integer(const json_t *object, const char *key);
/* A whole number from `least` to `most`; false: it is none. */
bool json_read_number(const json_t *object, const char *key, int64_t least, int64_t most,
                      int64_t *ret_number);
