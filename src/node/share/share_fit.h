/* SPDX-License-Identifier: Apache-2.0 */
/* share_fit: does a share fit, within its own ceilings and within what the GPU has left beside the node's
 * other shares? */
#pragma once

#include "gpu.h"
#include "seen_pod.h"
#include "share_book.h"
#include "share_sum.h"

/* What the node hands out. */
struct share_fit {
        struct share_book *book;
        struct gpu_set set; /* none: how large the GPUs are is not known, and nothing grows */
        double memory_scaling, cores_scaling;
        /* The pods that were placed here, of which some may have no share yet; NULL: nobody places any. */
        const struct seen_pods *pods;
        bool is_synced; /* all pods are known: a share of any other is of one that is over */
};

/* A share that is to be made: does it fit beside those that there are? The scheduler has seen to that, but
 * it may not have heard of what grew here, nor of what another scheduler placed. -ENOSPC. */
int share_fit_admits(const struct share_fit *fit, const struct share_copy *wanted, struct err *e);

/* -ENOSPC: the GPU cannot fit it; the sentence says how much is left. What does not grow always fits, and
 * so does what was decided. Pods that were placed here and have no share yet count, too. */
int share_fit_allows(const struct share_fit *fit, const struct held_share *held,
                     const struct share_copy *wanted, struct err *e);
/* The same, within the share's own ceilings: -ERANGE. */
int share_fit_check(const struct share_fit *fit, const struct held_share *held,
                    const struct share_copy *wanted, struct err *e);

/* All that may be handed out of the GPU. */
struct share_sum_use share_fit_total(const struct share_fit *fit, const struct gpu *gpu);
/* What is handed out of the GPU, with what is wanted; it may be NULL. -ENOMEM. */
int share_fit_taken(const struct share_fit *fit, const struct gpu *gpu,
                    const struct share_copy *wanted, struct share_sum_use *ret_use);
