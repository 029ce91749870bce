/* What the shares of this user, and for root those of the node, use at a moment: one row per share and
 * GPU. */
#pragma once

#include "share_layout.h"
#include "vec.h"

struct usage {
        char share[64], program[64], uuid[SHARE_UUID];
        unsigned gpu;       /* its number in the share */
        unsigned processes; /* of the share */
        uint64_t held_bytes, host_bytes;
        uint64_t limit_bytes;                      /* SHARE_UNLIMITED: none */
        uint64_t card_bytes;                       /* of the whole GPU; 0: not known */
        uint64_t busy_ns, throttled_ns;            /* so far */
        unsigned cores_percent, cores_max_percent; /* 0: no limit */
};

/* Adds the rows to a vec of struct usage. What dead processes held is given back first. EXIT_OK, or
 * EXIT_FAILED after a sentence about each share that could not be read. */
int usage_take(struct vec *usages);
