/* share_room: may a share become this? Within its own ceilings, and within what the card has left beside
 * the node's other shares. */
#pragma once

#include "gpu.h"
#include "seen_pod.h"
#include "share_book.h"
#include "share_sum.h"

/* What the node hands out. */
struct share_room {
        struct share_book *book;
        struct gpu_set set; /* none: how large the cards are is not known, and nothing grows */
        double memory_scaling, cores_scaling;
        /* The pods that were placed here, of which some may have no share yet; NULL: nobody places any. */
        const struct seen_pods *pods;
        bool is_told; /* all pods were told of: a share of any other is of one that is over */
};

/* A share that is to be made: does it fit beside those that there are? The scheduler has seen to that, but
 * it may not have heard of what grew here, nor of what another scheduler placed. -ENOSPC. */
int share_room_admits(const struct share_room *room, const struct share_copy *wanted,
                      struct err *e);

/* -ENOSPC: the card has no room; the sentence says how much there is. What does not grow always fits, and
 * so does what was decided. Those who were placed here and have no share yet have their room. */
int share_room_fits(const struct share_room *room, const struct held_share *held,
                    const struct share_copy *wanted, struct err *e);
/* The same, within the share's own ceilings: -ERANGE. */
int share_room_check(const struct share_room *room, const struct held_share *held,
                     const struct share_copy *wanted, struct err *e);

/* All that may be handed out of the card. */
struct share_sum_use share_room_whole(const struct share_room *room, const struct gpu *gpu);
/* What is handed out of the card, with what is wanted; it may be NULL. -ENOMEM. */
int share_room_taken(const struct share_room *room, const struct gpu *gpu,
                     const struct share_copy *wanted, struct share_sum_use *ret_use);
