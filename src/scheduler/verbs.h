/* The extender's verbs that only look: JSON of kube-scheduler in, JSON out. */
#pragma once

#include "args.h"
#include "cluster_claim.h"
#include "shape.h"
#include "str.h"

struct verbs {
        const struct cluster *cluster;
        bool is_spread;                    /* of nodes, where a pod does not say */
        const struct cluster_claim *claim; /* of the pod that is asked about; NULL: none */
};

/* Appends an ExtenderFilterResult. A shape is what the pod asks for. 0 or -ENOMEM. */
int verbs_filter(const struct verbs *verbs, const struct args *args, struct shape *shape,
                 struct str *reply, size_t *ret_passed);
/* The same for a pod of which nothing can be said but this. */
int verbs_filter_error(const char *error, struct str *reply);
/* Appends a HostPriorityList, 0…10; who is not in it has 0. */
int verbs_prioritize(const struct verbs *verbs, const struct args *args, struct shape *shape,
                     struct str *reply);
