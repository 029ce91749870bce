/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation as text. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_text.h"
#include "explain.h"
#include "json_read.h"
#include "scope.h"
#include "table.h"

enum { NAMES_MOST = 5 }; /* of nodes in one line */

static void cores_add(struct table *table, const json_t *row)
{
        const long long cores = json_read_integer(row, "cores");

        if (cores == 0)
                table_add(table, "no limit");
        else if (cores == 100)
                table_add(table, "whole GPU");
        else
                table_add(table, "%lld%%", cores);
}

static void memory_add(struct table *table, const json_t *row)
{
        if (json_object_get(row, "memory_mib"))
                table_add(table, "%lld MiB", json_read_integer(row, "memory_mib"));
        else if (json_object_get(row, "memory_units"))
                table_add(table, "%lld units", json_read_integer(row, "memory_units"));
        else
                table_add(table, "%lld%%", json_read_integer(row, "memory_percent"));
}

/* What it holds and uses of a GPU, as vgpu-node knows it. */
static void use_add(struct table *table, const json_t *row)
{
        if (json_object_get(row, "memory_used_mib"))
                table_add(table, "%lld MiB", json_read_integer(row, "memory_used_mib"));
        else
                table_add(table, "-");
        if (json_is_real(json_object_get(row, "cores_used_percent")))
                table_add(table, "%.1f%%",
                          json_real_value(json_object_get(row, "cores_used_percent")));
        else
                table_add(table, "-");
}

/* What containers ask for, or have; and hold and use, if that is known of one. */
static void containers_print(const json_t *rows, bool are_gpus)
{
        const char *const titles[] = { "CONTAINER", are_gpus ? "GPU" : "REQUESTS",
                                       "MEMORY",    "CORES",
                                       "HOLDS",     "USES" };
        bool is_live = false;
        struct table table;
        json_t *row;
        size_t i;

        json_array_foreach ((json_t *)rows, i, row)
                is_live |= json_object_get(row, "memory_used_mib") != NULL;
        table_init(&table, titles, is_live ? 6 : 4);
        json_array_foreach ((json_t *)rows, i, row) {
                table_add(&table, "%s", json_read_text(row, "container"));
                if (are_gpus)
                        table_add(&table, "%s", json_read_text(row, "uuid"));
                else
                        table_add(&table, "%lld GPU%s", json_read_integer(row, "gpus"),
                                  json_read_integer(row, "gpus") == 1 ? "" : "s");
                memory_add(&table, row);
                cores_add(&table, row);
                if (is_live)
                        use_add(&table, row);
        }
        putchar('\n');
        table_print(&table);
}

/* "a, b, c …". */
static void names_join(const json_t *names, char *to, size_t to_bytes)
{
        size_t used = 0;
        json_t *name;
        size_t i;

        to[0] = '\0';
        json_array_foreach ((json_t *)names, i, name) {
                if (i == NAMES_MOST) {
                        snprintf(to + used, to_bytes - used, " …");
                        return;
                }
                used += (size_t)snprintf(to + used, to_bytes - used, "%s%.63s", i ? ", " : "",
                                         json_string_value(name));
        }
}

static void nodes_print(const json_t *nodes, const json_t *fitting)
{
        static const char *const titles[] = { "NODES", "REASON", "NAMES" };
        char names[NAMES_MOST * 66 + 8];
        struct table table;
        json_t *group;
        size_t i;

        table_init(&table, titles, 3);
        if (json_array_size(fitting)) {
                names_join(fitting, names, sizeof names);
                table_add(&table, "%zu", json_array_size(fitting));
                table_add(&table, "it fits");
                table_add(&table, "%s", names);
        }
        json_array_foreach ((json_t *)nodes, i, group) {
                const json_t *list = json_object_get(group, "names");

                names_join(list, names, sizeof names);
                table_add(&table, "%zu", json_array_size(list));
                table_add(&table, "%s", json_read_text(group, "reason"));
                table_add(&table, "%s", names);
        }
        putchar('\n');
        table_print(&table);
}

/* What others wrote, such as the scheduler's message, moves no cursor. */
static void text_print(const char *before, const char *text, const char *after)
{
        const size_t size = strlen(text) + 1;
        autofree char *clean = malloc(size);

        if (!clean)
                return;
        cell_text_clean(text, clean, size);
        printf("%s%s%s", before, clean, after);
}

void explain_print(const json_t *explanation)
{
        const json_t *nodes = json_object_get(explanation, "nodes");
        const char *said = json_read_text(explanation, "scheduler_message");
        const char *unknown = json_read_text(explanation, "usage_error");

        text_print("pod ", json_read_text(explanation, "namespace"), "/");
        text_print("", json_read_text(explanation, "name"), ": ");
        text_print("", json_read_text(explanation, "sentence"), "\n");
        if (json_object_get(explanation, "gpus"))
                containers_print(json_object_get(explanation, "gpus"), true);
        else if (json_array_size(json_object_get(explanation, "requests")))
                containers_print(json_object_get(explanation, "requests"), false);
        if (nodes)
                nodes_print(nodes, json_object_get(explanation, "fitting"));
        if (*unknown) {
                const char first[] = { '\n', (char)toupper((unsigned char)*unknown), '\0' };

                text_print(first, unknown + 1, ".\n");
        }
        if (*said)
                text_print("\nkube-scheduler said: ", said, "\n");
}
