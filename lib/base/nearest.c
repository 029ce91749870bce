/* SPDX-License-Identifier: Apache-2.0 */
/* What did they mean? The word of a list that is nearest to a mistyped one. */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

enum { WORD_LIMIT = 63 };

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

unsigned nearest_distance(const char *a, const char *b)
{
        unsigned rows[3][WORD_LIMIT + 1];
        const size_t a_length = strlen(a), b_length = strlen(b);
        unsigned *before = rows[0], *above = rows[1], *row = rows[2];

        if (a_length > WORD_LIMIT || b_length > WORD_LIMIT)
                return WORD_LIMIT;
        for (size_t j = 0; j <= b_length; j++)
                above[j] = (unsigned)j;
        for (size_t i = 1; i <= a_length; i++) {
                unsigned *oldest = before;

                row[0] = (unsigned)i;
                for (size_t j = 1; j <= b_length; j++) {
                        row[j] = least(least(above[j], row[j - 1]) + 1,
                                       above[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = least(row[j], before[j - 2] + 1);
                }
                before = above;
                above = row;
                row = oldest;
        }
        return above[b_length];
}

void nearest_offer(struct nearest *nearest, const char *typed, const char *candidate)
{
        const size_t length = strlen(typed);
        unsigned distance = nearest_distance(typed, candidate);

        /* "a100" means a100-40gb although half of it is missing. */
        if (length >= 2 && strncmp(typed, candidate, length) == 0)
                distance = 1;
        /* Of three letters two must be right. */
        if (length > WORD_LIMIT || distance > 1 + (length > 3 ? length / 3 : 0))
                return;
        if (!nearest->word || distance < nearest->distance) {
                nearest->word = candidate;
                nearest->distance = distance;
        }
}

const char *nearest_text(const struct nearest *nearest, const char *prefix, char *text,
                         size_t text_bytes)
{
        text[0] = '\0';
        if (nearest->word)
                snprintf(text, text_bytes, " (did you mean '%s%s'?)", prefix, nearest->word);
        return text;
}
