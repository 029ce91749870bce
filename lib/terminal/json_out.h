/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON on stdout: commas, quotes and indentation are its business. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_out {
        unsigned depth;
        bool is_first;
        bool is_line; /* all on one line: one object of a stream */
};

/* `key` is NULL inside arrays and at the top. */
void json_out_open(struct json_out *json, const char *key, char bracket); /* '{' or '[' */
void json_out_close(struct json_out *json, char bracket);                 /* '}' or ']' */
void json_out_string(struct json_out *json, const char *key, const char *text);
void json_out_number(struct json_out *json, const char *key, uint64_t number);
void json_out_signed(struct json_out *json, const char *key, int64_t number);
void json_out_real(struct json_out *json, const char *key, double number);
void json_out_bool(struct json_out *json, const char *key, bool value);
void json_out_null(struct json_out *json, const char *key);
