/* SPDX-License-Identifier: Apache-2.0 */
/* kueue_audit: does what Kueue was told fit what admission does and what nodes have? No I/O. */
#pragma once

#include <jansson.h>

#include "kueue_plan.h"
#include "kueue_probe.h"

enum kueue_verdict { KUEUE_WELL, KUEUE_NOTE, KUEUE_WRONG };

struct kueue_facts {
        const struct kueue_plan *plan;   /* names of the cluster's resources */
        const struct kueue_probe *probe; /* NULL: not known */
        const json_t *manager;           /* Kueue's Configuration; NULL: not known */
        const json_t *cluster_queues, *local_queues, *flavors; /* arrays of objects */
};

/* Says one sentence per finding; `fix` is what to do, or NULL. */
typedef void kueue_say(void *owner, enum kueue_verdict verdict, const char *sentence,
                       const char *fix);

void kueue_audit(const struct kueue_facts *facts, kueue_say *say, void *owner);
