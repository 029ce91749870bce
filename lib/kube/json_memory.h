/* SPDX-License-Identifier: Apache-2.0 */
/* json_memory: whether the JSON library was refused memory. It does not tell everywhere: what it read may then lack a
 * byte, and what is put together a member. So what was made since a mark is thrown away, whole. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Refusals so far: to be compared later. */
uint64_t json_memory_mark(void);
bool json_memory_is_whole(uint64_t mark);

/* As json_loadb(). NULL: *ret_code is -ENOMEM, or -EPROTO with the reason in *ret_why (NULL is fine). */
json_t *json_memory_load(const char *text, size_t count, size_t flags, int *ret_code,
                         json_error_t *ret_why);
/* Of a text that ends with NUL, where it does not matter why it cannot be read. */
json_t *json_memory_load_text(const char *text, int *ret_code);
/* As json_dumps(). NULL: there was no memory for all of it. */
char *json_memory_dump(const json_t *value, size_t flags);
