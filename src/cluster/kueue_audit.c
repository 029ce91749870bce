/* SPDX-License-Identifier: Apache-2.0 */
/* Does what Kueue was told fit what admission does and what nodes have? */
#include "kueue_audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "amount.h"
#include "json_read.h"
#include "kueue_rows.h"

struct audit {
        const struct kueue_facts *facts;
        kueue_say *say;
        void *owner;
};

__attribute__((format(printf, 4, 5))) static void tell(const struct audit *audit,
                                                       enum kueue_verdict verdict, const char *fix,
                                                       const char *format, ...)
{
        char sentence[512];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(sentence, sizeof sentence, format, arguments);
        va_end(arguments);
        audit->say(audit->owner, verdict, sentence, fix);
}

static const json_t *resources_of(const struct audit *audit)
{
        return json_object_get(audit->facts->manager, "resources");
}

/* GB that a transformation makes of one `input`; 0: none does. */
static int64_t transformed_gb(const struct audit *audit, const char *input)
{
        const json_t *rows = json_object_get(resources_of(audit), "transformations"), *row;
        size_t i;

        json_array_foreach (rows, i, row) {
                const json_t *factor =
                        json_object_get(json_object_get(row, "outputs"), KUEUE_MEMORY_UNITS);
                int64_t gb = json_integer_value(factor);

                if (strcmp(json_read_text(row, "input"), input) != 0 || !factor)
                        continue;
                if (json_is_string(factor) &&
                    amount_parse(json_string_value(factor), &gb, NULL) < 0)
                        return -1;
                return gb;
        }
        return 0;
}

static bool is_excluded(const struct audit *audit, const char *name)
{
        const json_t *prefixes = json_object_get(resources_of(audit), "excludeResourcePrefixes");
        const json_t *prefix;
        size_t i;

        json_array_foreach (prefixes, i, prefix) {
                const char *text = json_string_value(prefix);

                if (text && strncmp(name, text, strlen(text)) == 0)
                        return true;
        }
        return strcmp(json_read_text(resources_of(audit), "quotaCheckStrategy"),
                      "IgnoreUndeclared") == 0;
}

static bool is_replaced(const struct audit *audit, const char *name)
{
        const json_t *rows = json_object_get(resources_of(audit), "transformations"), *row;
        size_t i;

        json_array_foreach (rows, i, row) {
                if (strcmp(json_read_text(row, "input"), name) == 0)
                        return strcmp(json_read_text(row, "strategy"), "Replace") == 0;
        }
        return false;
}

static bool queue_covers(const json_t *queue, const char *name)
{
        const json_t *groups = json_object_get(json_object_get(queue, "spec"), "resourceGroups");
        const json_t *group, *covered;
        size_t i, j;

        json_array_foreach (groups, i, group) {
                json_array_foreach (json_object_get(group, "coveredResources"), j, covered) {
                        if (json_is_string(covered) &&
                            strcmp(json_string_value(covered), name) == 0)
                                return true;
                }
        }
        return false;
}

static bool any_queue_covers(const struct audit *audit, const char *name)
{
        const json_t *queue;
        size_t i;

        json_array_foreach (audit->facts->cluster_queues, i, queue) {
                if (queue_covers(queue, name))
                        return true;
        }
        return false;
}

/* Each profile is GB by one hand, not by two and not by none. */
static void profile_check(const struct audit *audit, const char *name, unsigned gb)
{
        const struct kueue_probe *probe = audit->facts->probe;
        const int64_t transformed = transformed_gb(audit, name);
        const bool is_injected = probe && probe->pod_gb > 0;

        if (is_injected && transformed != 0)
                tell(audit, KUEUE_WRONG,
                     "take the transformation out ('vgpu kueue config --mode inject'), or run "
                     "vgpu-webhook with --leave-memory-units",
                     "%s counts twice: vgpu-webhook adds %u GB of " KUEUE_MEMORY_UNITS
                     " to a pod that requests one, and Kueue's transformation makes %" PRId64
                     " more of it",
                     name, gb, transformed);
        else if (transformed != 0 && transformed != (int64_t)gb)
                tell(audit, KUEUE_WRONG, "'vgpu kueue config' prints the right ones",
                     "Kueue's transformation makes %" PRId64 " GB of one %s, which has %u",
                     transformed, name, gb);
        else if (probe && !is_injected && transformed == 0 &&
                 any_queue_covers(audit, KUEUE_MEMORY_UNITS))
                tell(audit, KUEUE_WRONG,
                     "put the transformations of 'vgpu kueue config' into Kueue's configuration, "
                     "or "
                     "run vgpu-webhook without --leave-memory-units",
                     "the memory of %s is not counted: admission adds no " KUEUE_MEMORY_UNITS
                     ", and no transformation makes it",
                     name);
        else if (transformed == 0 && audit->facts->manager && !is_excluded(audit, name) &&
                 !any_queue_covers(audit, name))
                tell(audit, KUEUE_WRONG,
                     "add its prefix to resources.excludeResourcePrefixes ('vgpu kueue config "
                     "--part manager')",
                     "workloads that request %s are never admitted: no ClusterQueue covers it",
                     name);
        else
                tell(audit, KUEUE_WELL, NULL, "one %s counts as %u GB of " KUEUE_MEMORY_UNITS, name,
                     gb);
}

static void jobs_check(const struct audit *audit)
{
        const struct kueue_probe *probe = audit->facts->probe;

        if (!probe)
                tell(audit, KUEUE_NOTE, "allow this user to create pods and jobs, for the dry run",
                     "it is unknown whether admission adds " KUEUE_MEMORY_UNITS);
        else if (probe->pod_gb > 0 && probe->job_gb == 0)
                tell(audit, KUEUE_WRONG,
                     "add jobs, cronjobs and jobsets to the webhook configuration",
                     "Jobs are queued without their GPU memory: admission adds " KUEUE_MEMORY_UNITS
                     " to pods, but not to the templates of Jobs, which Kueue reads");
        else if (probe->pod_gb != 0 && probe->pod_gb != (int64_t)probe->profile_gb)
                tell(audit, KUEUE_WRONG, "look for another webhook that adds it",
                     "admission makes %" PRId64 " GB of one %s, which has %u", probe->pod_gb,
                     probe->resource, probe->profile_gb);
}

/* A share's name is counted in total, or left out, or stands in a queue itself. */
static void share_check(const struct audit *audit, const char *name)
{
        if (!audit->facts->manager || is_replaced(audit, name) || is_excluded(audit, name) ||
            any_queue_covers(audit, name))
                return;
        tell(audit, KUEUE_WRONG,
             "put the transformations of 'vgpu kueue config' into Kueue's configuration",
             "workloads that request %s are never admitted: no ClusterQueue covers it", name);
}

static bool name_is_among(const json_t *objects, const char *name)
{
        const json_t *object;
        size_t i;

        json_array_foreach (objects, i, object) {
                if (strcmp(json_read_text(json_object_get(object, "metadata"), "name"), name) == 0)
                        return true;
        }
        return false;
}

static bool queue_is_led_to(const struct audit *audit, const char *name)
{
        const json_t *queue;
        size_t i;

        json_array_foreach (audit->facts->local_queues, i, queue) {
                if (strcmp(json_read_text(json_object_get(queue, "spec"), "clusterQueue"), name) ==
                    0)
                        return true;
        }
        return false;
}

static void flavors_check(const struct audit *audit, const json_t *queue, const char *name)
{
        const json_t *groups = json_object_get(json_object_get(queue, "spec"), "resourceGroups");
        const json_t *group, *flavor;
        size_t i, j;

        json_array_foreach (groups, i, group) {
                json_array_foreach (json_object_get(group, "flavors"), j, flavor) {
                        const char *text = json_read_text(flavor, "name");

                        if (!name_is_among(audit->facts->flavors, text))
                                tell(audit, KUEUE_WRONG, "'vgpu kueue config' prints it",
                                     "ClusterQueue %s admits nothing: there is no ResourceFlavor "
                                     "'%s'",
                                     name, text);
                }
        }
}

static void queue_check(const struct audit *audit, const json_t *queue)
{
        const char *name = json_read_text(json_object_get(queue, "metadata"), "name");

        if (!json_is_object(json_object_get(json_object_get(queue, "spec"), "namespaceSelector")))
                tell(audit, KUEUE_WRONG, "set 'namespaceSelector: {}' for all namespaces",
                     "ClusterQueue %s admits nothing: without a namespaceSelector it is open to no "
                     "namespace",
                     name);
        if (!queue_is_led_to(audit, name))
                tell(audit, KUEUE_WRONG, "'vgpu kueue config' prints one",
                     "ClusterQueue %s cannot be used: no LocalQueue leads to it", name);
        flavors_check(audit, queue, name);
}

static bool queue_is_ours(const json_t *queue)
{
        return queue_covers(queue, KUEUE_MEMORY_UNITS) || queue_covers(queue, KUEUE_TOTAL_NUMBER) ||
               queue_covers(queue, KUEUE_TOTAL_MEMORY) || queue_covers(queue, KUEUE_TOTAL_CORES);
}

void kueue_audit(const struct kueue_facts *facts, kueue_say *say, void *owner)
{
        const struct audit audit = { facts, say, owner };
        const json_t *queue;
        bool has_queue = false;
        const char *name;
        struct resource resource;
        size_t i;

        if (!facts->manager)
                tell(&audit, KUEUE_NOTE, "name its file with --manager-config",
                     "Kueue's own configuration is unknown");
        jobs_check(&audit);
        for (i = 0; kueue_plan_name_at(facts->plan, i, &name, &resource); i++) {
                if (resource.kind == RESOURCE_MIG)
                        profile_check(&audit, name, resource.profile.memory_gb);
                else if (resource.kind == RESOURCE_COUNT)
                        share_check(&audit, name);
        }
        json_array_foreach (facts->cluster_queues, i, queue) {
                if (!queue_is_ours(queue))
                        continue;
                has_queue = true;
                queue_check(&audit, queue);
        }
        if (!has_queue)
                tell(&audit, KUEUE_NOTE, "'vgpu kueue config | kubectl apply -f -' makes one",
                     "no ClusterQueue counts GPUs");
}
