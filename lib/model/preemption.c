/* SPDX-License-Identifier: Apache-2.0 */
/* Whom to preempt: branch and bound, the most important one spared first; GPU by GPU where that is
 * exact, and fast. */
#include "preemption_search.h"

#include <errno.h>
#include <string.h>

int preemption_cost_compare(const struct preemption_cost *a, const struct preemption_cost *b)
{
        if (a->highest != b->highest)
                return a->highest < b->highest ? -1 : 1;
        if (a->sum != b->sum)
                return a->sum < b->sum ? -1 : 1;
        if (a->count != b->count)
                return a->count < b->count ? -1 : 1;
        if (a->started_s != b->started_s)
                return a->started_s > b->started_s ? -1 : 1;
        return 0;
}

const struct preemption_cost preemption_search_nobody = { .highest = INT32_MIN,
                                                          .started_s = INT64_MAX };

static uint64_t weight_of(const struct preemption_victim *victim)
{
        return (uint64_t)((int64_t)victim->priority - INT32_MIN + 1);
}

struct preemption_cost preemption_search_cost_with(struct preemption_cost cost,
                                                   const struct preemption_victim *victim)
{
        if (victim->priority > cost.highest) {
                cost.highest = victim->priority;
                cost.started_s = victim->started_s;
        } else if (victim->priority == cost.highest && victim->started_s < cost.started_s) {
                cost.started_s = victim->started_s;
        }
        cost.sum += weight_of(victim);
        cost.count++;
        return cost;
}

static bool is_more_important(const struct preemption_victim *a, const struct preemption_victim *b)
{
        return a->priority != b->priority ? a->priority > b->priority : a->started_s < b->started_s;
}

void preemption_search_change(struct placement_device *devices,
                              const struct preemption_victim *victim,
                              void (*change)(struct placement_use *, const struct placement_use *))
{
        for (unsigned i = 0; i < victim->hold_count; i++)
                change(&devices[victim->holds[i].device].used, &victim->holds[i].use);
}

bool preemption_search_fits(struct preemption_search *search,
                            const struct placement_device *devices, struct placement *ret_placement)
{
        search->node.devices = devices;
        const int r = placement_find(&search->node, search->pod, ret_placement, NULL);

        search->steps += 1 + ret_placement->steps;
        return r == 0;
}

void preemption_search_note(struct preemption_search *search, const struct placement *placement)
{
        if (search->has_best && preemption_cost_compare(&search->best->cost, &search->cost) <= 0)
                return;
        search->has_best = true;
        search->best->cost = search->cost;
        search->best->placement = *placement;
        memcpy(search->best->is_chosen, search->is_going, sizeof search->is_going);
}

/* Nobody is better off than the best so far who has as much to pay already. */
static bool is_hopeless(const struct preemption_search *search)
{
        return search->has_best && (search->cost.highest > search->best->cost.highest ||
                                    (search->cost.highest == search->best->cost.highest &&
                                     search->cost.sum > search->best->cost.sum));
}

/* Those before `index` are decided on; the pod does not fit yet, and does when all others go. The first way
 * down spares whoever can be, the most important first. */
void preemption_search_decide(struct preemption_search *search, unsigned index)
{
        if (index == search->count || search->steps > PREEMPTION_STEPS)
                return;
        const unsigned number = search->order[index];
        const struct preemption_victim *victim = &search->victims[number];
        const struct preemption_cost before = search->cost;
        struct placement placement;

        preemption_search_change(search->least, victim, placement_use_add);
        if (preemption_search_fits(search, search->least, &placement))
                preemption_search_decide(search, index + 1);
        preemption_search_change(search->least, victim, placement_use_take);

        preemption_search_change(search->now, victim, placement_use_take);
        search->is_going[number] = true;
        search->cost = preemption_search_cost_with(before, victim);
        if (!is_hopeless(search)) {
                if (preemption_search_fits(search, search->now, &placement))
                        preemption_search_note(search, &placement);
                else
                        preemption_search_decide(search, index + 1);
        }
        search->cost = before;
        search->is_going[number] = false;
        preemption_search_change(search->now, victim, placement_use_add);
}

/* Least important first, level by level, until the pod fits: whoever is above stays in any case. */
static bool level_find(struct preemption_search *search)
{
        struct placement placement;
        unsigned first = search->count;

        while (first > 0) {
                const int32_t level = search->victims[search->order[first - 1]].priority;

                while (first > 0 && search->victims[search->order[first - 1]].priority == level)
                        preemption_search_change(search->least,
                                                 &search->victims[search->order[--first]],
                                                 placement_use_take);
                if (search->has_best && level > search->best->cost.highest)
                        return false;
                if (!preemption_search_fits(search, search->least, &placement))
                        continue;
                search->count -= first;
                memmove(search->order, search->order + first,
                        search->count * sizeof search->order[0]);
                return true;
        }
        return false;
}

static bool has_allowed(const struct preemption_search *search,
                        const struct preemption_victim *victim)
{
        for (unsigned i = 0; i < victim->hold_count; i++)
                if (search->node.allowed >> victim->holds[i].device & 1)
                        return true;
        return false;
}

static void order_make(struct preemption_search *search, unsigned victim_count)
{
        search->count = 0;
        for (unsigned i = 0; i < victim_count; i++) {
                unsigned position = search->count;

                if (!has_allowed(search, &search->victims[i]))
                        continue;
                for (; position > 0 &&
                       is_more_important(&search->victims[i],
                                         &search->victims[search->order[position - 1]]);
                     position--)
                        search->order[position] = search->order[position - 1];
                search->order[position] = i;
                search->count++;
        }
}

void preemption_search_begin(struct preemption_search *search, const struct placement_node *node,
                             uint64_t allowed, unsigned victim_count)
{
        const size_t bytes = node->device_count * sizeof node->devices[0];

        search->node = *node;
        search->node.allowed = allowed;
        memcpy(search->now, node->devices, bytes);
        memcpy(search->least, node->devices, bytes);
        order_make(search, victim_count);
}

/* On all GPUs at once. */
static void search_together(struct preemption_search *search, const struct placement_node *node,
                            unsigned victim_count)
{
        preemption_search_begin(search, node, node->allowed, victim_count);
        search->cost = preemption_search_nobody;
        if (level_find(search))
                preemption_search_decide(search, 0);
}

int preemption_find(const struct placement_node *node, const struct placement_pod *pod,
                    const struct preemption_victim *victims, unsigned victim_count,
                    struct preemption *ret_preemption)
{
        struct preemption_search search = {
                .pod = pod,
                .victims = victims,
                .node = *node,
                .cost = preemption_search_nobody,
                .best = ret_preemption,
        };

        *ret_preemption = (struct preemption){ .cost = preemption_search_nobody };
        if (preemption_search_fits(&search, node->devices, &ret_preemption->placement))
                return 0;
        if (pod->need_count == 1)
                preemption_search_per_device(&search, node, victim_count);
        search.steps = 0;
        if (!search.has_best ||
            !preemption_search_is_exact_per_device(node, pod, victims, victim_count))
                search_together(&search, node, victim_count);
        return search.has_best ? 0 : -ENOSPC;
}
