/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu ps: who holds what, share by share. */
#include <stdio.h>

#include "arg_parser.h"
#include "command.h"
#include "ps_columns.h"
#include "scope_option.h"
#include "snapshot.h"
#include "snapshot_json.h"
#include "term.h"

enum { JSON, WIDE, COLUMNS, COLOUR, ALL, USER };

const struct cli_option ps_options[] = {
        [JSON] = { "json", NULL, "print JSON; docs/reference/json.md has the names", NULL },
        [WIDE] = { "wide", NULL, "show all columns, and cut none", NULL },
        [COLUMNS] = { "columns", "LIST", "show these columns in this order: share,pid,held,…",
                      "column" },
        [COLOUR] = TERM_COLOUR_OPTION,
        [ALL] = SCOPE_OPTION_ALL,
        [USER] = SCOPE_OPTION_USER,
        { 0 },
};

struct listing {
        struct snapshot_scope scope;
        bool is_json, is_wide;
        const struct ps_column *chosen[TABLE_COLUMNS];
        size_t chosen_count;
        struct table table;
};

static void row_add(struct listing *list, const struct ps_row *row)
{
        for (size_t i = 0; i < list->chosen_count; i++)
                list->chosen[i]->add(&list->table, row);
}

static void use_add(struct listing *list, struct ps_row row, unsigned index)
{
        row.limits = vec_at(&row.share->gpus, index);
        if (!row.limits && row.use)
                return;
        row.gpu = row.limits && row.process ? snapshot_gpu(row.snapshot, row.limits->uuid) : NULL;
        row_add(list, &row);
}

/* A process that holds nothing is shown once, on the first GPU; so is a share without processes. */
static void share_rows(struct listing *list, struct ps_row row)
{
        for (size_t i = 0; i < row.share->processes.count; i++) {
                row.process = vec_at(&row.share->processes, i);
                for (size_t j = 0; j < row.process->gpus.count; j++) {
                        row.use = vec_at(&row.process->gpus, j);
                        use_add(list, row, row.use->gpu);
                }
                row.use = NULL;
                if (row.process->gpus.count == 0)
                        use_add(list, row, 0);
        }
        if (row.share->processes.count == 0)
                use_add(list, row, 0);
}

static void columns_choose(struct listing *list)
{
        if (list->chosen_count)
                return;
        for (size_t i = 0; i < PS_COLUMNS; i++)
                if (list->is_wide ||
                    (list->scope.is_all ? ps_columns[i].is_of_all : ps_columns[i].is_usual))
                        list->chosen[list->chosen_count++] = &ps_columns[i];
}

static void print_table(struct listing *list, const struct snapshot *snapshot)
{
        struct table_column shapes[TABLE_COLUMNS];

        columns_choose(list);
        for (size_t i = 0; i < list->chosen_count; i++) {
                shapes[i] = list->chosen[i]->shape;
                if (list->is_wide)
                        shapes[i].least = shapes[i].rank = 0;
        }
        table_init_columns(&list->table, shapes, list->chosen_count);
        for (size_t i = 0; i < snapshot->shares.count; i++)
                share_rows(list, (struct ps_row){ .snapshot = snapshot,
                                                  .share = vec_at(&snapshot->shares, i) });
        for (size_t i = 0; list->scope.is_all && i < snapshot->strangers.count; i++) {
                const struct stranger *stranger = vec_at(&snapshot->strangers, i);

                row_add(list, &(struct ps_row){ .snapshot = snapshot,
                                                .stranger = stranger,
                                                .gpu = snapshot_gpu(snapshot, stranger->uuid) });
        }
        table_print(&list->table);
}

static int ps_print(struct listing *list)
{
        struct json_out json = { 0 };
        struct snapshot snapshot;

        snapshot_take(&list->scope, &snapshot);
        if (list->is_json)
                snapshot_json(&json, &snapshot);
        else
                print_table(list, &snapshot);
        fflush(stdout);
        for (size_t i = 0; i < snapshot.troubles.count; i++)
                complain(0, "%s", (const char *)vec_at(&snapshot.troubles, i));
        const int code = snapshot.troubles.count ? EXIT_FAILED : EXIT_OK;

        snapshot_done(&snapshot);
        return code;
}

static int option_take(void *owner, int option, const char *value)
{
        struct listing *list = owner;
        struct err e = { 0 };
        int count;

        switch (option) {
        case JSON:
                list->is_json = true;
                return 0;
        case WIDE:
                list->is_wide = true;
                return 0;
        case COLUMNS:
                count = ps_columns_parse(value, list->chosen, &e);
                list->chosen_count = count < 0 ? 0 : (size_t)count;
                return count < 0 ? complain(EXIT_USAGE, "%s", e.text) : 0;
        case COLOUR:
                return scope_option_colour(value);
        case ALL:
                list->scope.is_all = true;
                return 0;
        case USER:
                return scope_option_user(value, &list->scope);
        default:
                return complain_unexpected(value);
        }
}

int command_ps(const struct command *command, int argc, char **argv)
{
        struct listing list = { .scope = scope_option_default() };
        int code;

        return arg_parser_each(command, argc, argv, option_take, &list, &code) ? ps_print(&list)
                                                                               : code;
}
