/* Buckets that fill with time. */
#include "peer_budget.h"

#include "clock.h"

static float filled(float left, float most, double per_s, uint64_t passed_ns)
{
        const double now = left + (double)passed_ns * per_s / (double)NS_PER_S;

        return now > most ? most : (float)now;
}

static uint64_t passed(struct peer_budget *budget, uint64_t now_ns)
{
        const uint64_t passed_ns = now_ns > budget->told_ns ? now_ns - budget->told_ns : 0;

        budget->told_ns += passed_ns;
        return passed_ns;
}

/* Its place, or that of whoever was silent for longest: which has its whole budget again by then, as long as
 * there are more places than tenants who ask much. */
static struct peer_budget *place_find(struct peer_budgets *budgets, uint64_t tenant)
{
        struct peer_budget *set = budgets->places[tenant % PEER_BUDGET_SETS];
        struct peer_budget *oldest = set;

        for (unsigned i = 0; i < PEER_BUDGET_WAYS; i++) {
                if (set[i].tenant == tenant)
                        return &set[i];
                if (set[i].told_ns < oldest->told_ns)
                        oldest = &set[i];
        }
        *oldest = (struct peer_budget){ .tenant = tenant,
                                        .left = PEER_BUDGET_MOST,
                                        .sure = PEER_BUDGET_SURE_MOST };
        return oldest;
}

static bool take(float *left)
{
        if (*left < 1)
                return false;
        *left -= 1;
        return true;
}

bool peer_budgets_take(struct peer_budgets *budgets, uint64_t tenant, uint64_t now_ns)
{
        struct peer_budget *own = place_find(budgets, tenant ? tenant : 1);
        struct peer_budget *all = &budgets->all;
        const uint64_t own_ns = passed(own, now_ns), all_ns = passed(all, now_ns);

        own->left = filled(own->left, PEER_BUDGET_MOST, PEER_BUDGET_PER_S, own_ns);
        own->sure = filled(own->sure, PEER_BUDGET_SURE_MOST, PEER_BUDGET_SURE_PER_S, own_ns);
        all->left = filled(all->left, PEER_BUDGET_ALL_MOST, PEER_BUDGET_ALL_PER_S, all_ns);
        if (own->left < 1 || (!take(&own->sure) && !take(&all->left)))
                return false;
        own->left -= 1;
        return true;
}
