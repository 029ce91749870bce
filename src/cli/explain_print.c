/* An explanation as text. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "table.h"

enum { NAMES_MOST = 5 }; /* of nodes in one line */

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static long long number_of(const json_t *object, const char *key)
{
        return json_integer_value(json_object_get(object, key));
}

static void cores_add(struct table *table, const json_t *row)
{
        const long long cores = number_of(row, "cores");

        if (cores == 0)
                table_add(table, "no limit");
        else if (cores == 100)
                table_add(table, "whole card");
        else
                table_add(table, "%lld%%", cores);
}

static void memory_add(struct table *table, const json_t *row)
{
        if (json_object_get(row, "memory_mib"))
                table_add(table, "%lld MiB", number_of(row, "memory_mib"));
        else if (json_object_get(row, "memory_units"))
                table_add(table, "%lld units", number_of(row, "memory_units"));
        else
                table_add(table, "%lld%%", number_of(row, "memory_percent"));
}

/* What it holds and uses of a card, as vgpu-node knows it. */
static void use_add(struct table *table, const json_t *row)
{
        if (json_object_get(row, "memory_used_mib"))
                table_add(table, "%lld MiB", number_of(row, "memory_used_mib"));
        else
                table_add(table, "-");
        if (json_object_get(row, "cores_used"))
                table_add(table, "%lld%%", number_of(row, "cores_used"));
        else
                table_add(table, "-");
}

/* What containers ask for, or have; and hold and use, if that is known of one. */
static void containers_print(const json_t *rows, bool are_cards)
{
        const char *const titles[] = { "CONTAINER", are_cards ? "GPU" : "ASKS FOR",
                                       "MEMORY",    "CORES",
                                       "HOLDS",     "USES" };
        bool is_live = false;
        struct table table;
        json_t *row;
        size_t i;

        json_array_foreach((json_t *)rows, i, row) is_live |=
                json_object_get(row, "memory_used_mib") != NULL;
        table_init(&table, titles, is_live ? 6 : 4);
        json_array_foreach((json_t *)rows, i, row)
        {
                table_add(&table, "%s", text_of(row, "container"));
                if (are_cards)
                        table_add(&table, "%s", text_of(row, "uuid"));
                else
                        table_add(&table, "%lld GPU%s", number_of(row, "gpus"),
                                  number_of(row, "gpus") == 1 ? "" : "s");
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
        json_array_foreach((json_t *)names, i, name)
        {
                if (i == NAMES_MOST) {
                        snprintf(to + used, to_bytes - used, " …");
                        return;
                }
                used += (size_t)snprintf(to + used, to_bytes - used, "%s%.63s", i ? ", " : "",
                                         json_string_value(name));
        }
}

static void nodes_print(const json_t *nodes, const json_t *room)
{
        static const char *const titles[] = { "NODES", "SAY", "NAMES" };
        char names[NAMES_MOST * 66 + 8];
        struct table table;
        json_t *group;
        size_t i;

        table_init(&table, titles, 3);
        if (json_array_size(room)) {
                names_join(room, names, sizeof names);
                table_add(&table, "%zu", json_array_size(room));
                table_add(&table, "there is room");
                table_add(&table, "%s", names);
        }
        json_array_foreach((json_t *)nodes, i, group)
        {
                const json_t *list = json_object_get(group, "names");

                names_join(list, names, sizeof names);
                table_add(&table, "%zu", json_array_size(list));
                table_add(&table, "%s", text_of(group, "reason"));
                table_add(&table, "%s", names);
        }
        putchar('\n');
        table_print(&table);
}

void explain_print(const json_t *explanation)
{
        const json_t *nodes = json_object_get(explanation, "nodes");
        const char *said = text_of(explanation, "scheduler_said");
        const char *unknown = text_of(explanation, "use_unknown");

        printf("pod %s/%s: %s\n", text_of(explanation, "namespace"), text_of(explanation, "name"),
               text_of(explanation, "sentence"));
        if (json_object_get(explanation, "cards"))
                containers_print(json_object_get(explanation, "cards"), true);
        else if (json_array_size(json_object_get(explanation, "asks")))
                containers_print(json_object_get(explanation, "asks"), false);
        if (nodes)
                nodes_print(nodes, json_object_get(explanation, "room"));
        if (*unknown)
                printf("\n%c%s.\n", toupper((unsigned char)*unknown), unknown + 1);
        if (*said)
                printf("\nkube-scheduler said: %s\n", said);
}
