/* SPDX-License-Identifier: Apache-2.0 */
/* Victims GPU by GPU: each GPU has few pods, so that all sets of them can be tried. */
#include "preemption_search.h"

#include <string.h>

/* Whoever is above the level stays. */
static void order_cut(struct preemption_search *search, int32_t level)
{
        unsigned first = 0;

        while (first < search->count && search->victims[search->order[first]].priority > level)
                first++;
        search->count -= first;
        memmove(search->order, search->order + first, search->count * sizeof search->order[0]);
        for (unsigned i = 0; i < search->count; i++)
                preemption_search_change(search->least, &search->victims[search->order[i]],
                                         placement_use_take);
}

/* The least that one GPU costs, for a pod that needs one: whoever is of the level or below may go, and the
 * level is paid in any case. */
static bool device_search(struct preemption_search *search, const struct placement_node *node,
                          unsigned device, int32_t level, unsigned victim_count)
{
        struct placement placement;

        preemption_search_begin(search, node, UINT64_C(1) << device, victim_count);
        order_cut(search, level);
        search->steps = 0;
        search->has_best = false;
        search->cost = (struct preemption_cost){ .highest = level, .started_s = INT64_MAX };
        if (preemption_search_fits(search, search->now, &placement))
                preemption_search_note(search, &placement);
        else if (preemption_search_fits(search, search->least, &placement))
                preemption_search_decide(search, 0);
        return search->has_best;
}

/* How many GPUs there are when all up to a level have gone. */
static unsigned devices_count(struct preemption_search *search, uint64_t allowed)
{
        struct placement placement;
        unsigned count = 0;

        for (uint64_t left = allowed; left; left &= left - 1) {
                search->node.allowed = left & -left;
                count += preemption_search_fits(search, search->least, &placement);
        }
        return count;
}

/* The lowest level at which there are enough GPUs. */
static bool devices_level(struct preemption_search *search, const struct placement_node *node,
                          unsigned needed, unsigned victim_count, int32_t *ret_level)
{
        const uint64_t there = node->device_count < PLACEMENT_DEVICES
                                       ? (UINT64_C(1) << node->device_count) - 1
                                       : ~UINT64_C(0);
        unsigned left;

        preemption_search_begin(search, node, node->allowed, victim_count);
        *ret_level = INT32_MIN;
        for (left = search->count; devices_count(search, node->allowed & there) < needed;) {
                if (left == 0)
                        return false;
                *ret_level = search->victims[search->order[left - 1]].priority;
                while (left > 0 && search->victims[search->order[left - 1]].priority == *ret_level)
                        preemption_search_change(search->least,
                                                 &search->victims[search->order[--left]],
                                                 placement_use_take);
        }
        return true;
}

/* The cheapest GPUs, bit per GPU. */
static uint64_t devices_choose(struct preemption_search *search, const struct placement_node *node,
                               unsigned needed, int32_t level, unsigned victim_count)
{
        struct preemption_cost costs[PLACEMENT_DEVICES];
        unsigned devices[PLACEMENT_DEVICES], count = 0;
        uint64_t chosen = 0;

        for (unsigned i = 0; i < node->device_count; i++) {
                unsigned position = count;

                if (!(node->allowed >> i & 1) ||
                    !device_search(search, node, i, level, victim_count))
                        continue;
                for (; position > 0 &&
                       preemption_cost_compare(&search->best->cost, &costs[position - 1]) < 0;
                     position--) {
                        costs[position] = costs[position - 1];
                        devices[position] = devices[position - 1];
                }
                costs[position] = search->best->cost;
                devices[position] = i;
                count++;
        }
        for (unsigned i = 0; i < needed && i < count; i++)
                chosen |= UINT64_C(1) << devices[i];
        return chosen;
}

/* Notes a set of victims, if the pod fits without them: a strict topology may have other wishes. */
static void set_note(struct preemption_search *search, const struct placement_node *node,
                     unsigned victim_count)
{
        struct placement placement;

        preemption_search_begin(search, node, node->allowed, victim_count);
        search->has_best = false;
        search->cost = preemption_search_nobody;
        for (unsigned i = 0; i < victim_count; i++) {
                if (!search->is_going[i])
                        continue;
                preemption_search_change(search->now, &search->victims[i], placement_use_take);
                search->cost = preemption_search_cost_with(search->cost, &search->victims[i]);
        }
        if (preemption_search_fits(search, search->now, &placement))
                preemption_search_note(search, &placement);
        memset(search->is_going, 0, sizeof search->is_going);
}

/* GPU by GPU: each has few pods, so that all sets of them can be tried. */
void preemption_search_per_device(struct preemption_search *search,
                                  const struct placement_node *node, unsigned victim_count)
{
        const struct placement_pod *pod = search->pod;
        const unsigned needed = pod->needs[0].count;
        bool is_going[PREEMPTION_VICTIMS] = { false };
        struct placement_pod one = *pod;
        int32_t level;

        one.needs[0].count = 1;
        search->pod = &one;
        if (devices_level(search, node, needed, victim_count, &level)) {
                uint64_t left = devices_choose(search, node, needed, level, victim_count);

                for (; left; left &= left - 1) {
                        device_search(search, node, (unsigned)__builtin_ctzll(left), level,
                                      victim_count);
                        for (unsigned i = 0; i < victim_count; i++)
                                is_going[i] = is_going[i] || search->best->is_chosen[i];
                }
        }
        search->pod = pod;
        memcpy(search->is_going, is_going, sizeof is_going);
        set_note(search, node, victim_count);
}

/* Each GPU has its own cost, unless an evicted pod frees several. */
bool preemption_search_is_exact_per_device(const struct placement_node *node,
                                           const struct placement_pod *pod,
                                           const struct preemption_victim *victims,
                                           unsigned victim_count)
{
        if (pod->needs[0].count == 1)
                return true;
        for (unsigned i = 0; i < victim_count; i++) {
                unsigned allowed = 0;

                for (unsigned h = 0; h < victims[i].hold_count; h++)
                        allowed += (unsigned)(node->allowed >> victims[i].holds[h].device & 1);
                if (allowed > 1)
                        return false;
        }
        return true;
}
