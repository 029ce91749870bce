/* SPDX-License-Identifier: Apache-2.0 */
/* share_sum: what the shares of a GPU add up to, counted as the scheduler counts them: a pod takes what its
 * containers have at its peak (pod_peak.h); and what was decided for a container is set aside for it
 * while it has less. */
#pragma once

#include <stdbool.h>

#include "seen_pod.h"
#include "share_book.h"

struct share_sum_use {
        uint64_t memory_bytes; /* without a limit: nothing, as nothing was set aside */
        unsigned cores_percent;
};

struct share_sum_question {
        struct share_book *book;
        const char *uuid; /* of the GPU */
        /* Counted instead of its container's share; NULL: nothing is wanted. */
        const struct share_copy *wanted;
        const struct seen_pods *waiting; /* their claims count, too; NULL: they do not */
        const struct seen_pods *among;   /* shares of these pods alone; NULL: of all */
        bool has_going; /* shares of pods that are over count until their processes are gone */
};

/* -ENOMEM. */
int share_sum(const struct share_sum_question *question, struct share_sum_use *ret_use);
