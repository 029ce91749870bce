/* message: protobuf messages from bytes that we did not write, and back. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

/* NULL: malformed, or it would need more than MESSAGE_GROWTH times its bytes (and a little): two
 * bytes can ask for a structure of a hundred. */
enum { MESSAGE_GROWTH = 16, MESSAGE_LITTLE_BYTES = 4096 };
ProtobufCMessage *message_unpack(const ProtobufCMessageDescriptor *type, const void *bytes,
                                 size_t count);
void message_free(ProtobufCMessage *message); /* NULL is fine */

/* Appends it. 0 or -ENOMEM. */
int message_pack(const ProtobufCMessage *message, struct str *to);
