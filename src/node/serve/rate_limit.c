/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets that fill with time. */
#include "rate_limit.h"

#include "clock.h"

static float filled(float left, float most, double per_s, uint64_t passed_ns)
{
        const double now = left + (double)passed_ns * per_s / (double)NS_PER_S;

        return now > most ? most : (float)now;
}

static uint64_t passed(struct rate_limit *limit, uint64_t now_ns)
{
        const uint64_t passed_ns = now_ns > limit->filled_ns ? now_ns - limit->filled_ns : 0;

        limit->filled_ns += passed_ns;
        return passed_ns;
}

/* Its bucket, or that of the tenant that was silent for longest: that one is full again by then, as long as
 * there are more buckets than tenants that ask much. */
static struct rate_limit *bucket_find(struct rate_limits *limits, uint64_t tenant)
{
        struct rate_limit *set = limits->buckets[tenant % RATE_LIMIT_SETS];
        struct rate_limit *oldest = set;

        for (unsigned i = 0; i < RATE_LIMIT_WAYS; i++) {
                if (set[i].tenant == tenant)
                        return &set[i];
                if (set[i].filled_ns < oldest->filled_ns)
                        oldest = &set[i];
        }
        *oldest = (struct rate_limit){ .tenant = tenant,
                                       .left = RATE_LIMIT_MOST,
                                       .sure = RATE_LIMIT_SURE_MOST };
        return oldest;
}

static bool take(float *left)
{
        if (*left < 1)
                return false;
        *left -= 1;
        return true;
}

bool rate_limits_take(struct rate_limits *limits, uint64_t tenant, uint64_t now_ns)
{
        struct rate_limit *own = bucket_find(limits, tenant ? tenant : 1);
        struct rate_limit *all = &limits->all;
        const uint64_t own_ns = passed(own, now_ns), all_ns = passed(all, now_ns);

        own->left = filled(own->left, RATE_LIMIT_MOST, RATE_LIMIT_PER_S, own_ns);
        own->sure = filled(own->sure, RATE_LIMIT_SURE_MOST, RATE_LIMIT_SURE_PER_S, own_ns);
        all->left = filled(all->left, RATE_LIMIT_ALL_MOST, RATE_LIMIT_ALL_PER_S, all_ns);
        if (own->left < 1 || (!take(&own->sure) && !take(&all->left)))
                return false;
        own->left -= 1;
        return true;
}
