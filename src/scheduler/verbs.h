/* SPDX-License-Identifier: Apache-2.0 */
/* The extender's verbs that change nothing: JSON of kube-scheduler in, JSON out. */
#pragma once

#include "args.h"
#include "cluster_nomination.h"
#include "request_cache.h"
#include "str.h"

struct verbs {
        const struct cluster *cluster;
        enum placement_policy node_policy; /* for pods without a policy */
        const struct cluster_nomination
                *nomination; /* of the pod that is asked about; NULL: none */
};

/* Appends an ExtenderFilterResult. The class is that of the pod's request. 0 or -ENOMEM. */
int verbs_filter(const struct verbs *verbs, const struct args *args, struct request_class *class,
                 struct str *reply, size_t *ret_passed);
/* The same for a pod of which nothing can be said but this. */
int verbs_filter_error(const char *error, struct str *reply);
/* Appends a HostPriorityList, 0…10; who is not in it has 0. */
int verbs_prioritize(const struct verbs *verbs, const struct args *args,
                     struct request_class *class, struct str *reply);
