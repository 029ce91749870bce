/* SPDX-License-Identifier: Apache-2.0 */
/* usage_sample: one sample of one container: the driver's figures of its processes beside its region's. */
#pragma once

#include "gpu_process.h"
#include "share_book.h"
#include "tenant_watch.h"
#include "violation.h"

enum { USAGE_SENTENCE = 256 };

/* A process on a GPU, and whose it is. */
struct usage_process {
        struct gpu_process process;
        struct held_share *held;
};

struct usage_state {
        struct list link; /* of its owner */
        struct held_share *held;
        struct watched_tenant files;
        struct violation_record record;
        bool is_first; /* set: this is the first sample */
        struct {
                uint64_t gpu_ns;        /* by its region, at the last sample */
                uint64_t unreported_ns; /* in all */
                uint64_t region_bytes;  /* by its region, at the last sample */
                uint64_t allowed_bytes; /* violation_allowed_bytes() of the last sample */
        } devices[];                    /* of the share */
};

struct usage_finding {
        unsigned seen; /* bits of enum violation */
        char sentences[VIOLATIONS][USAGE_SENTENCE];
        uint64_t unreported_ns
                [SHARE_DEVICES]; /* GPU time since the last sample that it did not report */
};

/* processes: a vec of struct usage_process, of all containers. The region's integrity is not
 * checked beyond until_ns, nor for long. */
void usage_sample(struct usage_state *state, const struct vec *processes, uint64_t passed_ns,
                  uint64_t until_ns, struct usage_finding *ret_finding);
