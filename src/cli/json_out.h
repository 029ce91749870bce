/* Writes JSON on stdout: commas, quotes and indentation are its business. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_out {
        unsigned depth;
        bool is_first;
};

/* `key` is NULL inside arrays and at the top. */
void json_open(struct json_out *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json_out *json, char bracket);                 /* '}' or ']' */
void json_string(struct json_out *json, const char *key, const char *text);
void json_number(struct json_out *json, const char *key, uint64_t number);
void json_signed(struct json_out *json, const char *key, int64_t number);
void json_real(struct json_out *json, const char *key, double number);
void json_bool(struct json_out *json, const char *key, bool value);
