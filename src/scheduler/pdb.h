/* SPDX-License-Identifier: Apache-2.0 */
/* pdb: which pods may not be evicted together. The API server judges one eviction at a time, and a dry run changes
 * nothing: of two pods under one PodDisruptionBudget each may be allowed to go, and not both. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* True: a label selector of policy/v1 selects these labels. NULL selects nothing, {} everything. */
bool pdb_selects(const json_t *selector, const json_t *labels);

/* Whether the PDB has a word on that pod's eviction, and one less to give after it. */
bool pdb_counts(const json_t *pdb, const json_t *pod);

/* Of pods that are to go together (NULL: gone already), one that a PDB does not allow besides the others: the
 * most important one under it. −1: all may go. */
int pdb_excess(const json_t *pdbs, json_t *const *pods, unsigned count, const json_t **ret_pdb);

/* By how many they go beyond what PDBs allow, as kube-scheduler counts it. */
json_int_t pdb_violations(const json_t *pdbs, json_t *const *pods, unsigned count);
