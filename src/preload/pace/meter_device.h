/* SPDX-License-Identifier: Apache-2.0 */
/* meter_device: what the meter knows of one device. For the meter's own files; the caller holds the lock. */
#pragma once

#include "lock.h"
#include "region_layout.h"
#include "segment.h"

struct device_meter {
        struct lock lock;
        struct segment *first, **last; /* closed, in that order */
        _Atomic uint32_t closed;       /* so many; read without the lock */
        _Atomic bool has_open;         /* segments, perhaps; the same */
        struct busy_set busy;
        uint64_t planned_ns; /* of these */
        uint64_t due_ns;     /* when all of these should be done */
        unsigned guesses;
        uint64_t harvests, harvests_seen; /* so far; when the settler looked */
        struct segment *leaving;          /* of contexts that are being destroyed */
};
extern struct device_meter meter_devices[REGION_DEVICES];

void meter_list_append(struct device_meter *a, struct segment *s);
struct segment *meter_list_take(struct device_meter *a, struct segment **link);

/* Says in the region since when there is work that is not settled: whoever reaps this process charges it. */
void meter_pending_note(const struct device_meter *a, unsigned device_index);
/* The segment's work was done between these times: it is counted, its charge is corrected. */
void meter_segment_count(struct device_meter *a, struct segment *s, uint64_t begin_ns,
                         uint64_t end_ns);
/* Frees the segment, which is in no list. */
void meter_segment_end(struct device_meter *a, struct segment *s);
