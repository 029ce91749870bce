/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of GPUs, the better ones first. */
#include "placement_set.h"

enum {
        BEST_SETS = 16,   /* kept when sets are judged by topology */
        SETS_MOST = 4096, /* looked at for that */
        UNLINKED = 1000000,
};

struct walk {
        unsigned devices[PLACEMENT_DEVICES]; /* in the order of the policy */
        unsigned device_count, count;
        bool (*take)(void *context, uint64_t chosen);
        void *context;
};

static bool device_is_before(const struct placement_set_order *order, unsigned a, unsigned b)
{
        if (order->policy == PLACEMENT_ANY)
                return false;
        return order->policy == PLACEMENT_SPREAD ? order->fullness[a] < order->fullness[b]
                                                 : order->fullness[a] > order->fullness[b];
}

/* Equal GPUs keep their numbers' order. */
static void devices_sort(const struct placement_set_order *order, uint64_t devices,
                         struct walk *walk)
{
        for (; devices; devices &= devices - 1) {
                const unsigned device = (unsigned)__builtin_ctzll(devices);
                unsigned position = walk->device_count++;

                for (; position > 0 && device_is_before(order, device, walk->devices[position - 1]);
                     position--)
                        walk->devices[position] = walk->devices[position - 1];
                walk->devices[position] = device;
        }
}

/* Sets in the order in which their GPUs come. */
static bool sets_walk(const struct walk *walk, unsigned from, unsigned missing, uint64_t chosen)
{
        if (missing == 0)
                return walk->take(walk->context, chosen);
        for (unsigned i = from; i + missing <= walk->device_count; i++)
                if (sets_walk(walk, i + 1, missing - 1, chosen | UINT64_C(1) << walk->devices[i]))
                        return true;
        return false;
}

struct best {
        const struct placement_set_order *order;
        struct {
                uint64_t devices;
                unsigned cost;
        } sets[BEST_SETS];
        unsigned count, seen;
};

/* Pairs on different NUMA nodes. */
static unsigned numa_cost(const struct placement_node *node, uint64_t set)
{
        unsigned cost = 0;

        for (uint64_t a = set; a; a &= a - 1)
                for (uint64_t b = a & (a - 1); b; b &= b - 1)
                        cost += node->devices[__builtin_ctzll(a)].numa !=
                                node->devices[__builtin_ctzll(b)].numa;
        return cost;
}

/* What the pairs' links lack to the fastest; one pair without link costs more than all else. */
static unsigned link_cost(const struct placement_node *node, uint64_t set)
{
        unsigned cost = 0;

        for (uint64_t a = set; a; a &= a - 1) {
                for (uint64_t b = a & (a - 1); b; b &= b - 1) {
                        const unsigned row = (unsigned)__builtin_ctzll(a);
                        const unsigned column = (unsigned)__builtin_ctzll(b);
                        const unsigned link =
                                node->links ? node->links[row * node->device_count + column] : 0;

                        cost += link ? 255 - link : UNLINKED;
                }
        }
        return cost;
}

static bool is_strict_broken(enum placement_topology topology, unsigned cost)
{
        return (topology == PLACEMENT_NUMA_STRICT && cost > 0) ||
               (topology == PLACEMENT_LINK_STRICT && cost >= UNLINKED);
}

/* Keeps it among the best if it is one; stops the walk when enough were seen. */
static bool best_take(void *context, uint64_t set)
{
        struct best *best = context;
        const enum placement_topology topology = best->order->topology;
        const bool is_numa = topology == PLACEMENT_NUMA || topology == PLACEMENT_NUMA_STRICT;
        const unsigned cost =
                is_numa ? numa_cost(best->order->node, set) : link_cost(best->order->node, set);
        unsigned position;

        if (!is_strict_broken(topology, cost)) {
                position = best->count < BEST_SETS ? best->count++ : BEST_SETS;
                for (; position > 0 && best->sets[position - 1].cost > cost; position--)
                        if (position < BEST_SETS)
                                best->sets[position] = best->sets[position - 1];
                if (position < BEST_SETS) {
                        best->sets[position].devices = set;
                        best->sets[position].cost = cost;
                }
        }
        return ++best->seen >= SETS_MOST;
}

bool placement_set_each(const struct placement_set_order *order, uint64_t devices, unsigned count,
                        bool (*take)(void *context, uint64_t chosen), void *context)
{
        struct walk walk = { .count = count, .take = take, .context = context };
        struct best best = { .order = order };

        devices_sort(order, devices, &walk);
        if (walk.device_count < count)
                return false;
        if (order->topology == PLACEMENT_NO_TOPOLOGY || count < 2)
                return sets_walk(&walk, 0, count, 0);
        walk.take = best_take;
        walk.context = &best;
        sets_walk(&walk, 0, count, 0);
        for (unsigned i = 0; i < best.count; i++)
                if (take(context, best.sets[i].devices))
                        return true;
        return false;
}
