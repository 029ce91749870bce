/* Budget look: asks the API server for the PodDisruptionBudgets of pods that are to be evicted together, and
 * for the pods as they are. Asked when it is needed, not watched: at each eviction the API server has the last
 * word in any case, and a watch would be older than that. */
#pragma once

#include "kube_client.h"

struct budget_look;

struct budget_subject {
        char uid[64], namespace_name[64], name[256];
};

struct budget_verdict {
        int spared;       /* which one may not go with the others; −1: all may */
        char budget[256]; /* that says so */
        long long allowed;
        /* While it is told: */
        const bool *is_budgeted; /* by subject */
        const json_t *budgets;   /* of all their namespaces */
        json_t *const *pods;     /* by subject; NULL: gone, or no budget is in its namespace */
};

/* Tells once, never from inside this call. Where the API server does not say, all may go: it is asked about each
 * one before anybody goes. The subjects stay the caller's and stay as they are. */
int budget_look_new(struct kube_client *client, const struct budget_subject *subjects,
                    unsigned count,
                    void (*on_done)(void *owner, const struct budget_verdict *verdict), void *owner,
                    struct budget_look **ret_look);
void budget_look_free(struct budget_look *look); /* NULL is fine; also from inside on_done */
