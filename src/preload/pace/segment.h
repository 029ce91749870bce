/* SPDX-License-Identifier: Apache-2.0 */
/* segment: a piece of work between two measurements (meter.h): an array of them, and the time one stands for. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "busy_set.h"
#include "marker.h"

/* What is known at the end of a segment. */
struct segment_end {
        uint64_t planned_ns; /* what its work was expected to take, and charged */
        uint64_t last_ns;    /* of these, the last piece of work; 0: not known */
        uint64_t last_at_ns; /* when that was submitted; 0: by now */
        unsigned cost;       /* the only piece of work in it, whose cost is learned; 0: several */
};

enum segment_state { SEGMENT_FREE, SEGMENT_OPEN, SEGMENT_CLOSED };

struct segment {
        struct segment *next; /* in the list of its device, or free */
        enum segment_state state;
        unsigned device_index;
        uint64_t number; /* of this use */
        struct marker_pool *markers;
        uint64_t context;
        CUstream stream;
        CUevent begin, end; /* begin may be NULL */
        uint64_t open_ns;
        uint64_t
                works_since_ns; /* OPEN: the device may be at it; 0: it was not when somebody looked */
        uint64_t begin_recorded_ns, end_recorded_ns;
        uint64_t streams_ended; /* when it was opened */
        bool is_crowded; /* another stream had work at the same time: it may have been held up */
        struct segment_end facts;
};

/* Segments that are not free, of all devices: read by calls that are to cost nothing without any. */
extern _Atomic uint32_t segment_live;

/* Which segment, and that it is still the same. */
struct segment_ref {
        struct segment *segment;
        uint64_t number;
};

/* A free one, or that of a thread which ended without closing it; NULL: none. */
struct segment *segment_take(void);
void segment_free(struct segment *segment);
/* Segments ever taken, whatever their state. */
unsigned segment_count(void);
struct segment *segment_at(unsigned index);

/* From when on the device cannot have been idle, and for how long before that it was busy: as long as
 * the work takes that was submitted earlier. See the top of meter.h. */
void segment_spans(const struct segment *segment, uint64_t begin_ns, uint64_t end_ns,
                   struct span *ret_early, struct span *ret_late);

/* In a forked child: all are free. */
void segment_forked(void);
