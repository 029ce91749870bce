/* SPDX-License-Identifier: Apache-2.0 */
/* kueue_probe: does admission add GB of MIG profiles? A pod and a Job are offered to the API server and
 * not made (dryRun): the answer is what they would have become. */
#pragma once

#include "cluster_session.h"
#include "kueue_plan.h"

struct kueue_probe {
        char resource[KUEUE_NAME]; /* that was asked for, once */
        unsigned profile_gb;
        int64_t pod_gb, job_gb; /* that were added; 0: nothing */
};

int kueue_probe_run(struct cluster_session *session, const struct kueue_plan *plan,
                    const char *namespace_name, struct kueue_probe *ret_probe, struct err *e);
