/* SPDX-License-Identifier: Apache-2.0 */
/* rate_limit: how many requests each tenant may send. Each has a token bucket of its own, so that a tenant that
 * floods takes nothing from the others. Pure: time is a parameter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
        RATE_LIMIT_MOST = 1000,      /* burst of one tenant … */
        RATE_LIMIT_PER_S = 500,      /* … and its rate per second */
        RATE_LIMIT_SURE_MOST = 50,   /* of these, guaranteed however much the others ask … */
        RATE_LIMIT_SURE_PER_S = 20,  /* … */
        RATE_LIMIT_ALL_MOST = 1000,  /* of all tenants, without the guaranteed ones … */
        RATE_LIMIT_ALL_PER_S = 2000, /* … */
        RATE_LIMIT_SETS = 64,
        RATE_LIMIT_WAYS = 4,
};

struct rate_limit {
        uint64_t tenant; /* 0: nobody's */
        uint64_t filled_ns;
        float left, sure;
};

/* Of as many tenants as there are buckets; one that was silent for a second or two needs none. Zeroed begins. */
struct rate_limits {
        struct rate_limit buckets[RATE_LIMIT_SETS][RATE_LIMIT_WAYS];
        struct rate_limit all;
};

/* May it send a request now? The tenant is a digest of its name. */
bool rate_limits_take(struct rate_limits *limits, uint64_t tenant, uint64_t now_ns);
