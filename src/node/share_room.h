/* share_room: may a share become this? Within its own ceilings, and within what the card has left beside
 * the node's other shares. */
#pragma once

#include "gpu.h"
#include "share_book.h"

/* What the node hands out. */
struct share_room {
        struct share_book *book;
        struct gpu_set set; /* none: how large the cards are is not known, and nothing grows */
        double memory_scaling, cores_scaling;
};

/* What the others hold of the device: the same of memory and compute as the scheduler counts. */
struct share_room_use {
        uint64_t memory_bytes;
        unsigned cores_percent;
};
void share_room_others(const struct share_room *room, const struct held_share *except,
                       const char *uuid, struct share_room_use *ret_use);

/* A share that is to be made: does it fit beside those of other pods? For nodes on which two schedulers
 * place pods, either of which may not have heard of the other yet. Containers of one pod need not run at the
 * same time, so its own are left out. -ENOSPC. */
int share_room_admits(const struct share_room *room, const struct share_copy *wanted,
                      struct err *e);

/* -ENOSPC: the card has no room; the sentence says how much there is. What does not grow always fits. */
int share_room_fits(const struct share_room *room, const struct held_share *held,
                    const struct share_copy *wanted, struct err *e);
/* The same, within the share's own ceilings: -ERANGE. */
int share_room_check(const struct share_room *room, const struct held_share *held,
                     const struct share_copy *wanted, struct err *e);
