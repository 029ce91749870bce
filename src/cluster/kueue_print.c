/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML of a plan. */
#include <inttypes.h>
#include <string.h>

#include "kueue_plan.h"
#include "kueue_rows.h"

/* As people write it: whole CPUs, Mi of memory. */
static void amount_print(const struct kueue_total *total, FILE *to)
{
        if (strcmp(total->name, "cpu") == 0 && total->amount % 1000 != 0)
                fprintf(to, "%" PRId64 "m", total->amount);
        else if (strcmp(total->name, "cpu") == 0)
                fprintf(to, "%" PRId64, total->amount / 1000);
        else if (strcmp(total->name, "memory") == 0 && total->amount >= 1 << 20)
                fprintf(to, "%" PRId64 "Mi", total->amount >> 20);
        else
                fprintf(to, "%" PRId64, total->amount);
}

static void head_print(const struct kueue_plan *plan, const char *kind, const char *name, FILE *to)
{
        fprintf(to, "apiVersion: kueue.x-k8s.io/%s\nkind: %s\nmetadata:\n  name: %s\n",
                plan->version, kind, name);
}

static void queue_print(const struct kueue_plan *plan, FILE *to)
{
        struct kueue_rows rows;

        kueue_rows_read(plan, &rows);
        head_print(plan, "ClusterQueue", plan->cluster_queue, to);
        /* Left out, it would select no namespace at all. */
        fprintf(to, "spec:\n  namespaceSelector: {}\n  resourceGroups:\n  - coveredResources: [");
        for (unsigned i = 0; i < rows.covered_count; i++)
                fprintf(to, "%s\"%s\"", i ? ", " : "", rows.covered[i]);
        fprintf(to, "]\n    flavors:\n    - name: %s\n      resources:\n", plan->flavor);
        for (unsigned i = 0; i < rows.covered_count; i++) {
                const struct kueue_total *total = kueue_rows_total(plan, rows.covered[i]);

                fprintf(to, "      - name: \"%s\"\n        nominalQuota: \"", rows.covered[i]);
                if (total)
                        amount_print(total, to);
                else
                        fputc('0', to);
                fputs("\"\n", to);
        }
}

void kueue_plan_print_objects(const struct kueue_plan *plan, FILE *to)
{
        head_print(plan, "ResourceFlavor", plan->flavor, to);
        fputs("---\n", to);
        queue_print(plan, to);
        fputs("---\n", to);
        head_print(plan, "LocalQueue", plan->local_queue, to);
        fprintf(to, "  namespace: %s\nspec:\n  clusterQueue: %s\n", plan->namespace_name,
                plan->cluster_queue);
}

void kueue_plan_print_manager(const struct kueue_plan *plan, const char *prefix, FILE *to)
{
        struct kueue_rows rows;

        kueue_rows_read(plan, &rows);
        fprintf(to, "%sresources:%s\n", prefix,
                rows.excluded_count + rows.transformation_count ? "" : " {}");
        if (rows.excluded_count)
                fprintf(to, "%s  excludeResourcePrefixes:\n", prefix);
        for (unsigned i = 0; i < rows.excluded_count; i++)
                fprintf(to, "%s  - \"%s\"\n", prefix, rows.excluded[i]);
        if (rows.transformation_count)
                fprintf(to, "%s  transformations:\n", prefix);
        for (unsigned i = 0; i < rows.transformation_count; i++) {
                const struct kueue_transformation *row = &rows.transformations[i];

                fprintf(to, "%s  - input: \"%s\"\n%s    strategy: Replace\n", prefix, row->input,
                        prefix);
                if (row->times)
                        fprintf(to, "%s    multiplyBy: \"%s\"\n", prefix, row->times);
                fprintf(to, "%s    outputs: {\"%s\": \"%u\"}\n", prefix, row->output, row->factor);
        }
}
