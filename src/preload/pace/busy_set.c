/* SPDX-License-Identifier: Apache-2.0 */
/* busy_set: an array, because new spans almost always lie at its end. */
#include "busy_set.h"

#include <string.h>

/* What lies between `begin` and `end` of the span and is not in [first, last) of the set. */
static unsigned parts_find(const struct busy_set *set, unsigned first, unsigned last,
                           struct span span, struct span *ret_parts)
{
        unsigned count = 0;

        for (unsigned i = first; i < last; i++) {
                if (set->spans[i].begin_ns > span.begin_ns)
                        ret_parts[count++] = (struct span){ span.begin_ns, set->spans[i].begin_ns };
                span.begin_ns = set->spans[i].end_ns;
        }
        if (span.begin_ns < span.end_ns)
                ret_parts[count++] = span;
        return count;
}

/* Puts one span in place of [first, last). */
static void spans_replace(struct busy_set *set, unsigned first, unsigned last, struct span span)
{
        if (first == last && set->count == BUSY_SPANS) { /* full: forget the oldest */
                if (first == 0)
                        return;
                memmove(set->spans, set->spans + 1, (BUSY_SPANS - 1) * sizeof span);
                set->count--;
                first--;
                last--;
        }
        memmove(set->spans + first + 1, set->spans + last, (set->count - last) * sizeof span);
        set->count = set->count - (last - first) + 1;
        set->spans[first] = span;
}

unsigned busy_set_add(struct busy_set *set, struct span span, struct span *ret_parts)
{
        unsigned first = set->count, last;

        if (span.end_ns <= span.begin_ns)
                return 0;
        while (first > 0 && set->spans[first - 1].end_ns >= span.begin_ns)
                first--;
        last = first;
        while (last < set->count && set->spans[last].begin_ns <= span.end_ns)
                last++;
        unsigned count = parts_find(set, first, last, span, ret_parts);
        if (first < last) { /* one with those it touches */
                if (set->spans[first].begin_ns < span.begin_ns)
                        span.begin_ns = set->spans[first].begin_ns;
                if (set->spans[last - 1].end_ns > span.end_ns)
                        span.end_ns = set->spans[last - 1].end_ns;
        }
        spans_replace(set, first, last, span);
        return count;
}
