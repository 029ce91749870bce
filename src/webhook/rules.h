/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator decided, for all of admission. */
#pragma once

#include "container_request.h"
#include "seal.h"

struct rules {
        struct container_rules container;
        const char *scheduler;               /* in place of default-scheduler */
        const char *runtime_class;           /* for GPU pods that name none; NULL: leave it */
        const char *const *foreign_runtimes; /* that hand out GPUs without us; ends with NULL */
        const char *const *trusted_users;    /* who may write reserved annotations; NULL-ended */
        const char *const *volcano_users;    /* who may write those of Volcano's scheduler */
        uint64_t largest_device_mib;         /* of the cluster; 0: not known */
        struct seal seal;
};
