/* SPDX-License-Identifier: Apache-2.0 */
/* Which resources a queue counts. */
#include "kueue_rows.h"

#include <string.h>

const struct kueue_total *kueue_rows_total(const struct kueue_plan *plan, const char *name)
{
        for (size_t i = 0; i < plan->totals.count; i++) {
                const struct kueue_total *total = vec_at(&plan->totals, i);

                if (strcmp(total->name, name) == 0)
                        return total;
        }
        return NULL;
}

static void covered_add(struct kueue_rows *rows, const char *name)
{
        for (unsigned i = 0; i < rows->covered_count; i++)
                if (strcmp(rows->covered[i], name) == 0)
                        return;
        if (rows->covered_count < KUEUE_COVERED)
                rows->covered[rows->covered_count++] = name;
}

static void excluded_add(struct kueue_rows *rows, const char *prefix)
{
        for (unsigned i = 0; i < rows->excluded_count; i++)
                if (strcmp(rows->excluded[i], prefix) == 0)
                        return;
        if (rows->excluded_count < KUEUE_COVERED)
                rows->excluded[rows->excluded_count++] = prefix;
}

static void transformation_add(struct kueue_rows *rows, const char *input, const char *output,
                               const char *times, unsigned factor)
{
        for (unsigned i = 0; i < rows->transformation_count; i++)
                if (strcmp(rows->transformations[i].input, input) == 0)
                        return; /* Kueue takes each input once */
        if (rows->transformation_count < KUEUE_ROWS)
                rows->transformations[rows->transformation_count++] =
                        (struct kueue_transformation){ input, output, times, factor };
        covered_add(rows, output);
}

/* A profile is GB: computed by Kueue, or by admission; then the profile itself is left out. */
static void profile_add(struct kueue_rows *rows, const struct kueue_plan *plan, const char *name,
                        const struct resource *resource)
{
        const char *const prefixes[] = { resource_mig_prefix(), "mig.das.com/" };

        if (plan->mode == KUEUE_TRANSFORM) {
                transformation_add(rows, name, KUEUE_MEMORY_UNITS, NULL,
                                   resource->profile.memory_gb);
                return;
        }
        covered_add(rows, KUEUE_MEMORY_UNITS);
        for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
                if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
                        excluded_add(rows, prefixes[i]);
}

/* All names of the family that the count belongs to: nodes advertise the count alone. Memory and cores
 * are of each GPU, a quota is of all. */
static void share_add(struct kueue_rows *rows, const char *count_name, enum resource_family family)
{
        transformation_add(rows, count_name, KUEUE_TOTAL_NUMBER, NULL, 1);
        for (size_t i = 0; i < resource_row_count; i++) {
                const struct resource_row *row = &resource_rows[i];

                if (row->family != family || row->is_optional)
                        continue;
                if (row->kind == RESOURCE_MEMORY)
                        transformation_add(rows, row->name, KUEUE_TOTAL_MEMORY, count_name, 1);
                else if (row->kind == RESOURCE_CORES)
                        transformation_add(rows, row->name, KUEUE_TOTAL_CORES, count_name, 1);
                else if (row->kind != RESOURCE_COUNT)
                        excluded_add(rows, row->name);
        }
}

void kueue_rows_read(const struct kueue_plan *plan, struct kueue_rows *ret_rows)
{
        static const char *const plain[] = { "cpu", "memory" };
        const char *name;
        struct resource resource;

        *ret_rows = (struct kueue_rows){ 0 };
        for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++)
                if (kueue_rows_total(plan, plain[i]))
                        covered_add(ret_rows, plain[i]);
        for (size_t i = 0; kueue_plan_name_at(plan, i, &name, &resource); i++) {
                if (resource.kind == RESOURCE_MIG)
                        profile_add(ret_rows, plan, name, &resource);
                else if (resource.kind == RESOURCE_MEMORY_UNITS)
                        covered_add(ret_rows, KUEUE_MEMORY_UNITS);
                else if (resource.kind == RESOURCE_COUNT)
                        share_add(ret_rows, name, resource.family);
        }
        /* What else the operator gave a quota for. */
        for (size_t i = 0; i < plan->totals.count; i++) {
                const struct kueue_total *total = vec_at(&plan->totals, i);

                if (total->is_given)
                        covered_add(ret_rows, total->name);
        }
}
