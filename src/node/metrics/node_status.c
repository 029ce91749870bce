/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and readiness of the whole. */
#include "node_status.h"

#include <sys/utsname.h>

#include "offers.h"
#include "pod_watch.h"
#include "registration.h"

/* The Node's name, or where there is none the machine's. */
static const char *name_of(const struct node_parts *parts, struct utsname *host)
{
        if (parts->options->node_name)
                return parts->options->node_name;
        return uname(host) == 0 ? host->nodename : "";
}

int node_status_print(const struct node_parts *parts, struct str *out)
{
        struct utsname host;
        struct gpu_set set;
        const bool has_set = parts->gpus && gpu_watch_read(parts->gpus, &set);
        const struct node_metrics_source source = { .options = parts->options,
                                                    .node = name_of(parts, &host),
                                                    .set = has_set ? &set : NULL,
                                                    .usage = parts->usage,
                                                    .shares = parts->shares,
                                                    .offers = parts->offers,
                                                    .registration = parts->registration,
                                                    .pods = parts->pods,
                                                    .started_ns = parts->started_ns };

        const int r = node_metrics_print(&source, out);

        return r < 0 || !parts->audit ? r : usage_audit_print(parts->audit, source.node, out);
}

struct missing {
        struct str *reasons;
        bool is_any;
};

/* A reason that there is no memory for is one, too. */
static void add_reason(struct missing *missing, const char *what, const char *why)
{
        missing->is_any = true;
        str_appendf(missing->reasons, "%s: %s\n", what, why);
}

static void check_offer(void *owner, const struct plugin_state *state)
{
        if (!state->is_registered)
                add_reason(owner, state->resource, "kubelet does not listen");
}

bool node_status_is_ready(const struct node_parts *parts, struct str *reasons)
{
        struct missing missing = { .reasons = reasons };

        if (parts->options->is_standalone ? !parts->audit : !parts->offers)
                add_reason(&missing, "driver", "it has not listed its GPUs");
        else if (parts->offers)
                offers_each(parts->offers, check_offer, &missing);
        if (parts->registration && !registration_state(parts->registration).is_open)
                add_reason(&missing, "API server", "it does not list the Node");
        if (parts->pods && !pod_watch_state(parts->pods).is_open)
                add_reason(&missing, "API server", "it does not list the pods");
        return !missing.is_any;
}
