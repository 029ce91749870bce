/* SPDX-License-Identifier: Apache-2.0 */
/* Makes what a pod or a template asks for explicit. */
#pragma once

#include "rules.h"

/* A pod at CREATE. 0, or -EINVAL: it cannot be, and the sentence says why. */
int mutate_pod(json_t *pod, const char *pod_namespace, const struct rules *rules,
               struct patch *patch, struct err *e);

/* The pod template(s) in a Job, CronJob or JobSet: resources only, because queues read them there; the
 * pods made of it come by themselves later. */
int mutate_template(json_t *object, const char *kind, const struct rules *rules,
                    struct patch *patch, struct err *e);
