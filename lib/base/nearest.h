/* SPDX-License-Identifier: Apache-2.0 */
/* What did they mean? The word of a list that is nearest to a mistyped one. */
#pragma once

#include <stddef.h>

/* Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
unsigned nearest_distance(const char *a, const char *b);

struct nearest {
        const char *word; /* NULL: nothing is near */
        unsigned distance;
};

/* Remembers the candidate if it is nearer to `typed` than what was offered before, and near enough
 * to be what was meant. Start with a zeroed struct. */
void nearest_offer(struct nearest *nearest, const char *typed, const char *candidate);

/* " (did you mean 'x'?)" or "" into the buffer; returns it. */
const char *nearest_text(const struct nearest *nearest, const char *prefix, char *text,
                         size_t text_bytes);
