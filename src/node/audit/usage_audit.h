/* SPDX-License-Identifier: Apache-2.0 */
/* usage_audit: compares the containers' regions with the driver's figures of their processes, once a second.
 * Violations are reported, and the operator's policy is applied. */
#pragma once

#include "gpu_watch.h"
#include "node_arbiter.h"
#include "node_options.h"
#include "share_book.h"
#include "str.h"
#include "violation.h"

struct usage_audit;

struct usage_audit_options {
        struct share_book *book;
        struct gpu_watch *gpus;
        struct node_arbiter *arbiter; /* charges GPU time that was not reported; NULL is fine */
        enum violation_policy policy;
        /* A violation is certain; the sentence is complete. NULL is fine. */
        void (*on_violation)(void *owner, const struct held_share *held, enum violation violation,
                             const char *sentence);
        /* By policy: its pod is to be evicted. NULL: its processes on the GPUs are killed. */
        void (*on_evict)(void *owner, const struct held_share *held, const char *sentence);
        void *owner;
};

int usage_audit_new(struct loop *loop, const struct usage_audit_options *options,
                    struct usage_audit **ret_audit);
void usage_audit_free(struct usage_audit *audit); /* NULL is fine */

/* vgpu_container_violations_total, for each container and kind that there was. 0 or -ENOMEM. */
int usage_audit_print(const struct usage_audit *audit, const char *node, struct str *out);
