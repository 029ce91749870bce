/* SPDX-License-Identifier: Apache-2.0 */
/* json_stream: JSON values out of a stream of bytes, one at a time, so that a list of thousands costs
 * the memory of its largest object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "str.h"

struct json_stream {
        bool is_list; /* values are the items of the one object's "items"; else they follow each
                               other, as in a watch */
        size_t limit_bytes; /* of one value, and of what is around the items */
        bool is_cut;        /* the value that is told is longer: this is how it begins */

        struct str value;
        struct str envelope;  /* of a list: the object without its items */
        size_t dropped_bytes; /* of the value, beyond its limit */
        unsigned depth;
        unsigned key_match; /* how much of "items" the current string has; past its end: no match */
        bool in_string, is_escaped, in_items, is_items_key;
};

/* Calls on_value for each that became whole; the text ends with NUL and is gone when it returns. One that is
 * too long is passed over, and told as cut. -EMSGSIZE (it has no end in sight), -EPROTO (not such JSON),
 * -ENOMEM, or what on_value returned. */
int json_stream_take(struct json_stream *stream, const void *bytes, size_t count,
                     int (*on_value)(void *owner, const char *text, size_t count), void *owner);
/* Is nothing begun that is not ended? */
bool json_stream_is_whole(const struct json_stream *stream);
void json_stream_done(struct json_stream *stream); /* to be used again with the same settings */
