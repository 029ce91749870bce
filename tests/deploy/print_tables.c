/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the chart repeats of our tables, a line per row: print_tables [DOMAIN]. */
#include <stdio.h>

#include "choice.h"
#include "placement.h"
#include "resource.h"

static void policies_print(void)
{
        const struct choice_value *at = choice_rows[CHOICE_NODE_POLICY].values;

        for (; at->text; at++)
                printf("node-policy %s%s\n", at->text,
                       at->value == PLACEMENT_ANY ? " of-pods-only" : "");
}

/* MIG devices and units of memory are kubelet's to count, and kube-scheduler's. */
static void resources_print(void)
{
        const char *const mig[] = { resource_mig_prefix(), "mig.das.com/" };
        struct resource resource;
        char name[128];

        for (size_t i = 0; i < resource_row_count; i++)
                printf("resource %s %s %s\n", resource_rows[i].name,
                       resource_rows[i].is_optional                     ? "optional"
                       : resource_rows[i].kind == RESOURCE_MEMORY_UNITS ? "counted"
                                                                        : "managed",
                       resource_rows[i].kind == RESOURCE_COUNT ? "count" : "amount");
        for (size_t i = 0; i < sizeof mig / sizeof *mig; i++) {
                snprintf(name, sizeof name, "%s1g.5gb", mig[i]);
                if (resource_find(name, false, &resource))
                        printf("resource %s counted amount\n", name);
        }
}

int main(int argc, char **argv)
{
        struct err e = { 0 };

        if (argc > 1 && resource_use_domain(argv[1], &e) < 0) {
                fprintf(stderr, "%s\n", e.text);
                return 1;
        }
        policies_print();
        resources_print();
        return 0;
}
