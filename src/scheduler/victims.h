/* Victims: whom a pod would send away on a node, as the cluster stands. */
#pragma once

#include "cluster_claim.h"
#include "preemption.h"

struct victims {
        struct preemption_cost cost;
        struct placement placement; /* of the pod, when they and all who leave anyway are gone */
        unsigned count;
        const struct cluster_pod *pods[PREEMPTION_VICTIMS]; /* until the cluster changes */
};

struct victims_question {
        const struct asking *asking;
        const char *uid;      /* the pod's own */
        const json_t *gone;   /* an array of {"UID": …}: they go in any case; NULL: nobody */
        const json_t *spared; /* likewise: they do not go, whatever they are worth */
        bool is_patient;      /* it sends nobody away: whoever leaves anyway is waited for */
        uint64_t now_ns;
};

/* 0, -ENOSPC: nobody of lower priority could make room; -ENOMEM. Pods that are leaving count as gone;
 * room that is kept for others of the same or a higher priority does not count. */
int victims_find(const struct cluster_node *node, const struct victims_question *question,
                 struct victims *ret_victims);
