/* Budget: who may not go together with whom. The API server looks at one eviction at a time, and one that is
 * tried without effect changes nothing: of two pods under one PodDisruptionBudget each may be allowed to go, and
 * not both. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Does a label selector, as policy/v1 means it, choose these labels? NULL chooses nothing, {} everything. */
bool budget_selects(const json_t *selector, const json_t *labels);

/* Whether the budget has a word on that pod's eviction, and one less to give after it. */
bool budget_counts(const json_t *budget, const json_t *pod);

/* Of pods that are to go together (NULL: gone already), one that a budget does not allow besides the others: the
 * most important one under it. −1: all may go. */
int budget_excess(const json_t *budgets, json_t *const *pods, unsigned count,
                  const json_t **ret_budget);

/* By how many they go beyond what budgets allow, as kube-scheduler counts it. */
json_int_t budget_violations(const json_t *budgets, json_t *const *pods, unsigned count);
