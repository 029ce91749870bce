/* The extender's verbs that only look: JSON of kube-scheduler in, JSON out. */
#pragma once

#include "cluster.h"

struct verbs {
        const struct cluster *cluster;
        bool with_gpu;  /* nvidia.com/gpu is ours too */
        bool is_spread; /* of nodes, where a pod does not say */
};

/* ExtenderFilterResult; never NULL but when memory is short. A bad argument is its "Error". */
json_t *verbs_filter(const struct verbs *verbs, const json_t *args);
/* HostPriorityList, 0…10. */
json_t *verbs_prioritize(const struct verbs *verbs, const json_t *args);
