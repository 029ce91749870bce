/* SPDX-License-Identifier: Apache-2.0 */
/* node_metrics: what vgpu-node serves at /metrics: devices, containers, processes, itself. */
#pragma once

#include "gpu.h"
#include "node_options.h"
#include "node_usage.h"
#include "share_book.h"
#include "str.h"

struct offers;
struct registration;
struct pod_watch;

struct node_metrics_source {
        const struct node_options *options;
        const char *node;            /* what it is called, in labels */
        const struct gpu_set *set;   /* as read last; NULL: the driver has not answered */
        struct node_usage *usage;    /* NULL: nothing is sampled */
        struct share_book *shares;   /* NULL: none are kept */
        const struct offers *offers; /* NULL: nothing is offered yet */
        const struct registration *registration; /* NULL: there is none */
        const struct pod_watch *pods;            /* NULL: likewise */
        uint64_t started_ns;
};

/* Appends the text. 0 or -ENOMEM. */
int node_metrics_print(const struct node_metrics_source *source, struct str *out);
