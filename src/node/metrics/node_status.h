/* SPDX-License-Identifier: Apache-2.0 */
/* node_status: vgpu-node's metrics and readiness over HTTP. */
#pragma once

#include "gpu_watch.h"
#include "node_metrics.h"
#include "usage_audit.h"

/* The program's parts, as they come: NULL until there is one. */
struct node_parts {
        const struct node_options *options;
        struct gpu_watch *gpus;
        struct share_book *shares;
        struct node_usage *usage;
        const struct offers *offers;
        const struct registration *registration;
        const struct pod_watch *pods;
        const struct usage_audit *audit;
        uint64_t started_ns;
};

int node_status_print(const struct node_parts *parts, struct str *out);
/* Appends a line for each thing that is missing. */
bool node_status_is_ready(const struct node_parts *parts, struct str *reasons);
