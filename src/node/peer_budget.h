/* peer_budget: how often a tenant is heard. Each has a budget of its own, so that one that asks without end
 * is heard no less and no more than it may, and nobody else is heard less for it. Pure: time is a parameter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
        PEER_BUDGET_MOST = 1000,      /* at once, of one tenant … */
        PEER_BUDGET_PER_S = 500,      /* … and every second after that */
        PEER_BUDGET_SURE_MOST = 50,   /* of these however much the others ask … */
        PEER_BUDGET_SURE_PER_S = 20,  /* … */
        PEER_BUDGET_ALL_MOST = 1000,  /* of all tenants, the sure ones apart … */
        PEER_BUDGET_ALL_PER_S = 2000, /* … */
        PEER_BUDGET_SETS = 64,
        PEER_BUDGET_WAYS = 4,
};

struct peer_budget {
        uint64_t tenant; /* 0: nobody's */
        uint64_t told_ns;
        float left, sure;
};

/* Of as many tenants as there are places; who was silent for a second or two needs none. Zeroed begins. */
struct peer_budgets {
        struct peer_budget places[PEER_BUDGET_SETS][PEER_BUDGET_WAYS];
        struct peer_budget all;
};

/* May it be heard now? The tenant is a digest of its name. */
bool peer_budgets_take(struct peer_budgets *budgets, uint64_t tenant, uint64_t now_ns);
