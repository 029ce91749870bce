/* SPDX-License-Identifier: Apache-2.0 */
/* str: a growing string, and the few questions about text that everybody asks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
        char *text; /* NUL-terminated, or NULL while empty */
        size_t length;
        size_t capacity;
};

/* 0 or -ENOMEM; the string is unchanged on failure. */
int str_append(struct str *str, const char *text);
int str_append_bytes(struct str *str, const char *bytes, size_t count);
int str_appendf(struct str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));
void str_done(struct str *str); /* a zeroed struct is fine */

bool str_is_equal(const char *a, const char *b); /* NULL equals only NULL */
bool str_starts_with(const char *text, const char *prefix);

/* The whole of text as a decimal number. -EINVAL: not a number; -ERANGE: too large. */
int str_parse_u64(const char *text, uint64_t *ret_number);

/* Copies what fits and always terminates. */
void str_copy(char *to, size_t to_bytes, const char *from);

/* Writes "?" over control characters: foreign text neither forges a line nor commands a terminal. */
void str_tame(char *text);
