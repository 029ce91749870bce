/* SPDX-License-Identifier: Apache-2.0 */
/* The rules. */
#include "violation.h"

enum { CLEAN_SAMPLES = 60, PERCENT_MORE = 5, WINDOW = 10 };
#define BYTES_MORE (UINT64_C(64) << 20)

const char *const violation_names[VIOLATIONS] = {
        [VIOLATION_MEMORY] = "memory",
        [VIOLATION_STRANGER] = "stranger",
        [VIOLATION_REGION] = "region",
        [VIOLATION_COMPUTE] = "compute",
};

/* Of the last ten. Honest programs that take and give back quickly are seen so now and then; utilisation is a mean
 * over seconds. */
static const unsigned samples_needed[VIOLATIONS] = {
        [VIOLATION_MEMORY] = 5,
        [VIOLATION_STRANGER] = 4,
        [VIOLATION_REGION] = 3,
        [VIOLATION_COMPUTE] = 6,
};

bool violation_in_memory(uint64_t driver_bytes, uint64_t region_bytes, uint64_t exempt_bytes)
{
        const uint64_t slack = BYTES_MORE + region_bytes / 100 * PERCENT_MORE;

        return driver_bytes > region_bytes && driver_bytes - region_bytes > slack + exempt_bytes;
}

uint64_t violation_allowed_bytes(uint64_t before_bytes, uint64_t limit_bytes, uint64_t driver_bytes)
{
        const uint64_t held_bytes = driver_bytes < before_bytes ? driver_bytes : before_bytes;

        return held_bytes > limit_bytes ? held_bytes : limit_bytes;
}

bool violation_in_compute(double driver_ratio, double region_ratio)
{
        return driver_ratio > region_ratio + 0.10 && driver_ratio > region_ratio * 1.25;
}

unsigned violation_record_add(struct violation_record *record, unsigned seen)
{
        unsigned certain = 0;

        record->clean = seen ? 0 : record->clean + 1;
        for (unsigned i = 0; i < VIOLATIONS; i++) {
                record->samples[i] =
                        (record->samples[i] << 1 | (seen >> i & 1)) & ((1u << WINDOW) - 1);
                if ((unsigned)__builtin_popcount(record->samples[i]) < samples_needed[i] ||
                    record->is_certain[i])
                        continue;
                record->is_certain[i] = true;
                record->counts[i]++;
                certain |= 1u << i;
        }
        return certain;
}

bool violation_record_is_over(struct violation_record *record)
{
        bool was_certain = record->is_held_back;

        if (record->clean != CLEAN_SAMPLES)
                return false;
        record->is_held_back = false;
        for (unsigned i = 0; i < VIOLATIONS; i++) {
                was_certain |= record->is_certain[i];
                record->is_certain[i] = false;
        }
        return was_certain;
}
