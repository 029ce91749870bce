/* SPDX-License-Identifier: Apache-2.0 */
/* pdb_query: asks the API server for the PodDisruptionBudgets of pods that are to be evicted together, and
 * for the pods as they are. Asked when it is needed, not watched: at each eviction the API server has the last
 * word in any case, and a watch would be older than that. */
#pragma once

#include "kube_client.h"

struct pdb_query;

struct pdb_subject {
        char uid[64], namespace_name[64], name[256];
};

struct pdb_verdict {
        int spared;    /* which one may not go with the others; −1: all may */
        char pdb[256]; /* that says so */
        long long allowed;
        /* While it is told: */
        const bool *has_pdb; /* by subject */
        const json_t *pdbs;  /* of all their namespaces */
        json_t *const *pods; /* by subject; NULL: gone, or no PDB is in its namespace */
};

/* Tells once, never from inside this call. Where the API server does not say, all may go: it is asked about each
 * one before anybody goes. The subjects stay the caller's and stay as they are. */
int pdb_query_new(struct kube_client *client, const struct pdb_subject *subjects, unsigned count,
                  void (*on_done)(void *owner, const struct pdb_verdict *verdict), void *owner,
                  struct pdb_query **ret_query);
void pdb_query_free(struct pdb_query *query); /* NULL is fine; also from inside on_done */
