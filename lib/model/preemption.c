/* Whom to send away: branch and bound, the most important one spared first; card by card where that is
 * exact, and fast. */
#include "preemption_hunt.h"

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

const struct preemption_cost hunt_nobody = { .highest = INT32_MIN, .started_s = INT64_MAX };

static uint64_t weight_of(const struct preemption_victim *victim)
{
        return (uint64_t)((int64_t)victim->priority - INT32_MIN + 1);
}

struct preemption_cost hunt_cost_with(struct preemption_cost cost,
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

void hunt_change(struct placement_card *cards, const struct preemption_victim *victim,
                 void (*change)(struct placement_use *, const struct placement_use *))
{
        for (unsigned i = 0; i < victim->hold_count; i++)
                change(&cards[victim->holds[i].card].used, &victim->holds[i].use);
}

bool hunt_fits(struct hunt *hunt, const struct placement_card *cards,
               struct placement *ret_placement)
{
        hunt->node.cards = cards;
        const int r = placement_find(&hunt->node, hunt->pod, ret_placement, NULL);

        hunt->steps += 1 + ret_placement->steps;
        return r == 0;
}

void hunt_note(struct hunt *hunt, const struct placement *placement)
{
        if (hunt->has_best && preemption_cost_compare(&hunt->best->cost, &hunt->cost) <= 0)
                return;
        hunt->has_best = true;
        hunt->best->cost = hunt->cost;
        hunt->best->placement = *placement;
        memcpy(hunt->best->is_chosen, hunt->is_going, sizeof hunt->is_going);
}

/* Nobody is better off than the best so far who has as much to pay already. */
static bool is_hopeless(const struct hunt *hunt)
{
        return hunt->has_best && (hunt->cost.highest > hunt->best->cost.highest ||
                                  (hunt->cost.highest == hunt->best->cost.highest &&
                                   hunt->cost.sum > hunt->best->cost.sum));
}

/* Those before `index` are decided on; the pod does not fit yet, and does when all others go. The first way
 * down spares whoever can be, the most important first. */
void hunt_decide(struct hunt *hunt, unsigned index)
{
        if (index == hunt->count || hunt->steps > PREEMPTION_STEPS)
                return;
        const unsigned number = hunt->order[index];
        const struct preemption_victim *victim = &hunt->victims[number];
        const struct preemption_cost before = hunt->cost;
        struct placement placement;

        hunt_change(hunt->least, victim, placement_use_add);
        if (hunt_fits(hunt, hunt->least, &placement))
                hunt_decide(hunt, index + 1);
        hunt_change(hunt->least, victim, placement_use_take);

        hunt_change(hunt->now, victim, placement_use_take);
        hunt->is_going[number] = true;
        hunt->cost = hunt_cost_with(before, victim);
        if (!is_hopeless(hunt)) {
                if (hunt_fits(hunt, hunt->now, &placement))
                        hunt_note(hunt, &placement);
                else
                        hunt_decide(hunt, index + 1);
        }
        hunt->cost = before;
        hunt->is_going[number] = false;
        hunt_change(hunt->now, victim, placement_use_add);
}

/* Least important first, level by level, until the pod fits: whoever is above stays in any case. */
static bool level_find(struct hunt *hunt)
{
        struct placement placement;
        unsigned first = hunt->count;

        while (first > 0) {
                const int32_t level = hunt->victims[hunt->order[first - 1]].priority;

                while (first > 0 && hunt->victims[hunt->order[first - 1]].priority == level)
                        hunt_change(hunt->least, &hunt->victims[hunt->order[--first]],
                                    placement_use_take);
                if (hunt->has_best && level > hunt->best->cost.highest)
                        return false;
                if (!hunt_fits(hunt, hunt->least, &placement))
                        continue;
                hunt->count -= first;
                memmove(hunt->order, hunt->order + first, hunt->count * sizeof hunt->order[0]);
                return true;
        }
        return false;
}

static bool has_allowed(const struct hunt *hunt, const struct preemption_victim *victim)
{
        for (unsigned i = 0; i < victim->hold_count; i++)
                if (hunt->node.allowed >> victim->holds[i].card & 1)
                        return true;
        return false;
}

static void order_make(struct hunt *hunt, unsigned victim_count)
{
        hunt->count = 0;
        for (unsigned i = 0; i < victim_count; i++) {
                unsigned place = hunt->count;

                if (!has_allowed(hunt, &hunt->victims[i]))
                        continue;
                for (; place > 0 &&
                       is_more_important(&hunt->victims[i], &hunt->victims[hunt->order[place - 1]]);
                     place--)
                        hunt->order[place] = hunt->order[place - 1];
                hunt->order[place] = i;
                hunt->count++;
        }
}

void hunt_begin(struct hunt *hunt, const struct placement_node *node, uint64_t allowed,
                unsigned victim_count)
{
        const size_t bytes = node->card_count * sizeof node->cards[0];

        hunt->node = *node;
        hunt->node.allowed = allowed;
        memcpy(hunt->now, node->cards, bytes);
        memcpy(hunt->least, node->cards, bytes);
        order_make(hunt, victim_count);
}

/* On all cards at once. */
static void hunt_together(struct hunt *hunt, const struct placement_node *node,
                          unsigned victim_count)
{
        hunt_begin(hunt, node, node->allowed, victim_count);
        hunt->cost = hunt_nobody;
        if (level_find(hunt))
                hunt_decide(hunt, 0);
}

int preemption_find(const struct placement_node *node, const struct placement_pod *pod,
                    const struct preemption_victim *victims, unsigned victim_count,
                    struct preemption *ret_preemption)
{
        struct hunt hunt = {
                .pod = pod,
                .victims = victims,
                .node = *node,
                .cost = hunt_nobody,
                .best = ret_preemption,
        };

        *ret_preemption = (struct preemption){ .cost = hunt_nobody };
        if (hunt_fits(&hunt, node->cards, &ret_preemption->placement))
                return 0;
        if (pod->need_count == 1)
                hunt_apart(&hunt, node, victim_count);
        hunt.steps = 0;
        if (!hunt.has_best || !hunt_is_apart(node, pod, victims, victim_count))
                hunt_together(&hunt, node, victim_count);
        return hunt.has_best ? 0 : -ENOSPC;
}
