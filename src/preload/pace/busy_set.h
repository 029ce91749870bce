/* SPDX-License-Identifier: Apache-2.0 */
/* busy_set: spans of time, each nanosecond of which counts once, in whatever order they come. */
#pragma once

#include <stdint.h>

enum { BUSY_SPANS = 128 };

struct span {
        uint64_t begin_ns, end_ns;
};

/* Sorted and apart from each other; the oldest are forgotten. Zero is an empty set. */
struct busy_set {
        unsigned count;
        struct span spans[BUSY_SPANS];
};

/* Adds the span; how many parts of it were not in the set before, and which (at most BUSY_SPANS + 1). */
unsigned busy_set_add(struct busy_set *set, struct span span, struct span *ret_parts);
