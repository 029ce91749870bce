/* Victims card by card: each card has few pods, so that all sets of them can be tried. */
#include "preemption_hunt.h"

#include <string.h>

/* Whoever is above the level stays. */
static void order_cut(struct hunt *hunt, int32_t level)
{
        unsigned first = 0;

        while (first < hunt->count && hunt->victims[hunt->order[first]].priority > level)
                first++;
        hunt->count -= first;
        memmove(hunt->order, hunt->order + first, hunt->count * sizeof hunt->order[0]);
        for (unsigned i = 0; i < hunt->count; i++)
                hunt_change(hunt->least, &hunt->victims[hunt->order[i]], placement_use_take);
}

/* The least that one card costs, for a pod that needs one: whoever is of the level or below may go, and the
 * level is paid in any case. */
static bool card_hunt(struct hunt *hunt, const struct placement_node *node, unsigned card,
                      int32_t level, unsigned victim_count)
{
        struct placement placement;

        hunt_begin(hunt, node, UINT64_C(1) << card, victim_count);
        order_cut(hunt, level);
        hunt->steps = 0;
        hunt->has_best = false;
        hunt->cost = (struct preemption_cost){ .highest = level, .started_s = INT64_MAX };
        if (hunt_fits(hunt, hunt->now, &placement))
                hunt_note(hunt, &placement);
        else if (hunt_fits(hunt, hunt->least, &placement))
                hunt_decide(hunt, 0);
        return hunt->has_best;
}

/* How many cards there are when all up to a level have gone. */
static unsigned cards_count(struct hunt *hunt, uint64_t allowed)
{
        struct placement placement;
        unsigned count = 0;

        for (uint64_t left = allowed; left; left &= left - 1) {
                hunt->node.allowed = left & -left;
                count += hunt_fits(hunt, hunt->least, &placement);
        }
        return count;
}

/* The lowest level at which there are enough cards. */
static bool cards_level(struct hunt *hunt, const struct placement_node *node, unsigned needed,
                        unsigned victim_count, int32_t *ret_level)
{
        const uint64_t there = node->card_count < PLACEMENT_CARDS
                                       ? (UINT64_C(1) << node->card_count) - 1
                                       : ~UINT64_C(0);
        unsigned left;

        hunt_begin(hunt, node, node->allowed, victim_count);
        *ret_level = INT32_MIN;
        for (left = hunt->count; cards_count(hunt, node->allowed & there) < needed;) {
                if (left == 0)
                        return false;
                *ret_level = hunt->victims[hunt->order[left - 1]].priority;
                while (left > 0 && hunt->victims[hunt->order[left - 1]].priority == *ret_level)
                        hunt_change(hunt->least, &hunt->victims[hunt->order[--left]],
                                    placement_use_take);
        }
        return true;
}

/* The cheapest cards, bit per card. */
static uint64_t cards_choose(struct hunt *hunt, const struct placement_node *node, unsigned needed,
                             int32_t level, unsigned victim_count)
{
        struct preemption_cost costs[PLACEMENT_CARDS];
        unsigned cards[PLACEMENT_CARDS], count = 0;
        uint64_t chosen = 0;

        for (unsigned i = 0; i < node->card_count; i++) {
                unsigned place = count;

                if (!(node->allowed >> i & 1) || !card_hunt(hunt, node, i, level, victim_count))
                        continue;
                for (;
                     place > 0 && preemption_cost_compare(&hunt->best->cost, &costs[place - 1]) < 0;
                     place--) {
                        costs[place] = costs[place - 1];
                        cards[place] = cards[place - 1];
                }
                costs[place] = hunt->best->cost;
                cards[place] = i;
                count++;
        }
        for (unsigned i = 0; i < needed && i < count; i++)
                chosen |= UINT64_C(1) << cards[i];
        return chosen;
}

/* Notes a set of victims, if the pod fits without them: a strict topology may have other wishes. */
static void set_note(struct hunt *hunt, const struct placement_node *node, unsigned victim_count)
{
        struct placement placement;

        hunt_begin(hunt, node, node->allowed, victim_count);
        hunt->has_best = false;
        hunt->cost = hunt_nobody;
        for (unsigned i = 0; i < victim_count; i++) {
                if (!hunt->is_going[i])
                        continue;
                hunt_change(hunt->now, &hunt->victims[i], placement_use_take);
                hunt->cost = hunt_cost_with(hunt->cost, &hunt->victims[i]);
        }
        if (hunt_fits(hunt, hunt->now, &placement))
                hunt_note(hunt, &placement);
        memset(hunt->is_going, 0, sizeof hunt->is_going);
}

/* Card by card: each has few pods, so that all sets of them can be tried. */
void hunt_apart(struct hunt *hunt, const struct placement_node *node, unsigned victim_count)
{
        const struct placement_pod *pod = hunt->pod;
        const unsigned needed = pod->needs[0].count;
        bool is_going[PREEMPTION_VICTIMS] = { false };
        struct placement_pod one = *pod;
        int32_t level;

        one.needs[0].count = 1;
        hunt->pod = &one;
        if (cards_level(hunt, node, needed, victim_count, &level)) {
                uint64_t left = cards_choose(hunt, node, needed, level, victim_count);

                for (; left; left &= left - 1) {
                        card_hunt(hunt, node, (unsigned)__builtin_ctzll(left), level, victim_count);
                        for (unsigned i = 0; i < victim_count; i++)
                                is_going[i] = is_going[i] || hunt->best->is_chosen[i];
                }
        }
        hunt->pod = pod;
        memcpy(hunt->is_going, is_going, sizeof is_going);
        set_note(hunt, node, victim_count);
}

/* Cards cost what they cost apart, unless a pod that goes leaves several. */
bool hunt_is_apart(const struct placement_node *node, const struct placement_pod *pod,
                   const struct preemption_victim *victims, unsigned victim_count)
{
        if (pod->needs[0].count == 1)
                return true;
        for (unsigned i = 0; i < victim_count; i++) {
                unsigned allowed = 0;

                for (unsigned h = 0; h < victims[i].hold_count; h++)
                        allowed += (unsigned)(node->allowed >> victims[i].holds[h].card & 1);
                if (allowed > 1)
                        return false;
        }
        return true;
}
