/* SPDX-License-Identifier: Apache-2.0 */
/* violation: does a container use more than its region records? Pure: samples in, certain violations out.
 * The driver's figures lag and are rounded, and programs start and end between two samples: only what several of
 * the last samples show counts. Not in a row: whoever takes and gives back in turns uses as much. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum violation {
        VIOLATION_MEMORY,   /* the driver counts more memory than its region */
        VIOLATION_STRANGER, /* one of its processes is on the GPU and not in its region */
        VIOLATION_REGION,   /* its region was written by hand */
        VIOLATION_COMPUTE,  /* the driver counts more GPU time */
        VIOLATIONS,
};
extern const char *const violation_names[VIOLATIONS]; /* "memory" … */

/* Is the difference more than figures that are taken at two moments explain? `exempt_bytes` need not be
 * in the region. */
bool violation_in_memory(uint64_t driver_bytes, uint64_t region_bytes, uint64_t exempt_bytes);
/* How much the driver may count, where the limit was limit_bytes or more: a lowered limit takes nothing away, so
 * what it held then stays its own until it gives it back. `before_bytes` is the answer for the sample before. */
uint64_t violation_allowed_bytes(uint64_t before_bytes, uint64_t limit_bytes,
                                 uint64_t driver_bytes);
/* Ratios of a device's time. */
bool violation_in_compute(double driver_ratio, double region_ratio);

/* Of one container. Zeroed. */
struct violation_record {
        uint32_t samples[VIOLATIONS]; /* the last ones, a bit each, the newest lowest */
        bool is_certain[VIOLATIONS];
        bool is_held_back; /* for what was certain before this record began */
        unsigned clean;    /* samples in a row without any */
        uint64_t counts[VIOLATIONS];
};

/* seen: a bit for each enum violation. A bit for each that has become certain with this sample. */
unsigned violation_record_add(struct violation_record *record, unsigned seen);
/* True with the sample that ends all: it has been clean for a minute. */
bool violation_record_is_over(struct violation_record *record);
