/* SPDX-License-Identifier: Apache-2.0 */
/* Does admission add GB of MIG profiles? */
#include "kueue_probe.h"

#include <stdio.h>
#include <string.h>

#include "amount.h"
#include "json_read.h"
#include "resource.h"
#include "str.h"

/* A profile that nodes have, else the smallest. */
static void resource_choose(const struct kueue_plan *plan, struct kueue_probe *probe)
{
        const char *name;
        struct resource resource;

        for (size_t i = 0; kueue_plan_name_at(plan, i, &name, &resource); i++)
                if (resource.kind == RESOURCE_MIG)
                        break;
        if (name)
                str_copy(probe->resource, sizeof probe->resource, name);
        else
                snprintf(probe->resource, sizeof probe->resource, "%s1g.5gb",
                         resource_mig_prefix());
        if (resource_find(probe->resource, false, &resource))
                probe->profile_gb = resource.profile.memory_gb;
}

static json_t *spec_make(const char *resource)
{
        return json_pack("{s:s, s:[{s:s, s:s, s:{s:{s:s}}}]}", "restartPolicy", "Never",
                         "containers", "name", "probe", "image", "probe", "resources", "limits",
                         resource, "1");
}

static int64_t spec_gb(const json_t *spec)
{
        const json_t *container = json_array_get(json_object_get(spec, "containers"), 0);
        const char *text = json_read_text_or_null(
                json_object_get(json_object_get(container, "resources"), "requests"),
                KUEUE_MEMORY_UNITS);
        int64_t gb;

        return text && amount_parse(text, &gb, NULL) == 0 ? gb : 0;
}

static int offer(struct cluster_session *session, const char *path, json_t *body, json_t **ret_made,
                 struct err *e)
{
        const int r = cluster_session_call(session, "POST", path, body, ret_made, e);

        json_decref(body);
        return r;
}

int kueue_probe_run(struct cluster_session *session, const struct kueue_plan *plan,
                    const char *namespace_name, struct kueue_probe *ret_probe, struct err *e)
{
        json_t *made = NULL;
        char path[256];
        int r;

        *ret_probe = (struct kueue_probe){ 0 };
        resource_choose(plan, ret_probe);
        snprintf(path, sizeof path, "/api/v1/namespaces/%.63s/pods?dryRun=All", namespace_name);
        r = offer(session, path,
                  json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "v1", "kind", "Pod",
                            "metadata", "generateName", "vgpu-probe-", "spec",
                            spec_make(ret_probe->resource)),
                  &made, e);
        if (r < 0)
                return r;
        ret_probe->pod_gb = spec_gb(json_object_get(made, "spec"));
        json_decref(made);
        made = NULL;
        snprintf(path, sizeof path, "/apis/batch/v1/namespaces/%.63s/jobs?dryRun=All",
                 namespace_name);
        r = offer(session, path,
                  json_pack("{s:s, s:s, s:{s:s}, s:{s:b, s:{s:o}}}", "apiVersion", "batch/v1",
                            "kind", "Job", "metadata", "generateName", "vgpu-probe-", "spec",
                            "suspend", 1, "template", "spec", spec_make(ret_probe->resource)),
                  &made, e);
        if (r == 0)
                ret_probe->job_gb = spec_gb(json_object_get(
                        json_object_get(json_object_get(made, "spec"), "template"), "spec"));
        json_decref(made);
        return r;
}
