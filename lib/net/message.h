/* SPDX-License-Identifier: Apache-2.0 */
/* message: protobuf messages from bytes that we did not write, and back. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

/* NULL: malformed, or it would need more memory than an honest one of its size: two bytes can ask for
 * a structure of a hundred, so a small message may grow much, but a large one only so far. */
ProtobufCMessage *message_unpack(const ProtobufCMessageDescriptor *type, const void *bytes,
                                 size_t count);
void message_free(ProtobufCMessage *message); /* NULL is fine */

/* Appends it. 0 or -ENOMEM. */
int message_pack(const ProtobufCMessage *message, struct str *to);
