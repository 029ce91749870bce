/* The extender's verb preempt: kube-scheduler has chosen victims by what it knows; ours are added. */
#pragma once

#include "victims.h"

/* ExtenderPreemptionResult; NULL: out of memory. Nodes on which the pod would not fit though all those of
 * lower priority go are left out; and where room is kept for the pod, all other nodes: nobody goes twice for
 * one pod. */
json_t *verb_preempt(const struct cluster *cluster, const json_t *args, const struct asking *asking,
                     uint64_t now_ns);
