/* SPDX-License-Identifier: Apache-2.0 */
/* inputs: files of inputs. One whose name ends in .inputs holds many: {length, 4 bytes, lowest first; bytes}. Any
 * other is one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { INPUTS_BYTES = 1 << 16 }; /* of one, at most */

/* Calls it for each. 0 or a negative errno; -EPROTO: it ends in the middle of one. */
int inputs_read(const char *path, void (*take)(void *owner, const uint8_t *bytes, size_t length),
                void *owner);
/* Adds one, at once or not at all. */
int inputs_append(const char *path, const uint8_t *bytes, size_t length);
/* As base64, in lines that TAP passes over: for a log that is all that is left. */
void inputs_print(const uint8_t *bytes, size_t length);
