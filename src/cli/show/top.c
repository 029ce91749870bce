/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu top: what the shares use, as it happens. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arg_parser.h"
#include "clock.h"
#include "command.h"
#include "quantity.h"
#include "scope_option.h"
#include "size_text.h"
#include "snapshot_json.h"
#include "table.h"
#include "term.h"
#include "top_view.h"

enum { JSON, ONCE, INTERVAL, SORT, FILTER, COLOUR, ALL, USER };

const struct cli_option top_options[] = {
        [JSON] = { "json", NULL,
                   "print JSON, one object per sample and line; docs/reference/json.md has the "
                   "names",
                   NULL },
        [ONCE] = { "once", NULL, "take one sample, print it, and end", NULL },
        [INTERVAL] = { "interval", "SECONDS", "time between samples; default: 1", NULL },
        [SORT] = { "sort", "KEY", "cores, memory or name; default: cores", "cores memory name" },
        [FILTER] = { "filter", "TEXT",
                     "show only shares, users or programs with TEXT in their name", NULL },
        [COLOUR] = TERM_COLOUR_OPTION,
        [ALL] = SCOPE_OPTION_ALL,
        [USER] = SCOPE_OPTION_USER,
        { 0 },
};

struct top_run {
        struct top top;
        struct top_screen screen;
        struct snapshot_scope scope;
        struct snapshot last; /* the newest */
        bool is_json, is_once;
};

static int sample(struct top_run *run)
{
        snapshot_done(&run->last);
        snapshot_take(&run->scope, &run->last);
        top_sample(&run->top, &run->last);
        top_order(&run->top, run->screen.sort);
        return run->last.troubles.count ? EXIT_FAILED : EXIT_OK;
}

static void print_json(struct top_run *run)
{
        struct json_out json = { .is_line = true };

        snapshot_filter(&run->last, run->screen.filter);
        snapshot_json(&json, &run->last);
        fflush(stdout);
}

static void ratio_add(struct table *table, double ratio, bool is_known)
{
        if (is_known)
                table_add(table, "%.1f%%", ratio * 100);
        else
                table_add(table, "-");
}

static void percent_add(struct table *table, unsigned percent)
{
        if (percent)
                table_add(table, "%u%%", percent);
        else
                table_add(table, "-");
}

static void row_add(struct table *table, const struct top_row *row, const struct gpu_view *gpu)
{
        char size[SIZE_TEXT];

        table_add(table, "%s", row->is_stranger ? "-" : row->share);
        table_add(table, "%s", *row->user ? row->user : "-");
        table_add(table, "%s", row->pid);
        if (gpu && gpu->instance)
                table_add(table, "%u:%u", gpu->index, gpu->instance);
        else
                table_add(table, "%u", gpu ? gpu->index : 0);
        table_add(table, "%s", gpu && *gpu->name ? gpu_short_name(gpu->name) : "-");
        table_add(table, "%s", size_text(row->physical_bytes, size));
        table_add(table, "%s", size_text(row->virtual_bytes, size));
        table_add(table, "%s", size_text(row->limit_bytes, size));
        ratio_add(table, row->cores_ratio, row->is_used_known);
        percent_add(table, row->cores_percent);
        percent_add(table, row->cores_max_percent);
        ratio_add(table, row->throttled_ratio, !row->is_stranger);
        ratio_add(table, row->lost_ratio, row->is_lost_known);
        table_add(table, "%s", *row->program ? row->program : "-");
}

static void print_rows(const struct top_run *run)
{
        static const struct table_column columns[] = {
                { "SHARE", false, 8, 0 }, { "USER", false, 6, 3 },    { "PID", true, 0, 2 },
                { "GPU", true, 0, 0 },    { "MODEL", false, 10, 7 },  { "HELD", true, 0, 0 },
                { "HOST", true, 0, 6 },   { "LIMIT", true, 0, 4 },    { "CORES", true, 0, 0 },
                { "LIMIT", true, 0, 5 },  { "MAX", true, 0, 6 },      { "THROTTLED", true, 0, 8 },
                { "LOST", true, 0, 8 },   { "PROGRAM", false, 8, 4 },
        };
        struct table table;

        table_init_columns(&table, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < run->top.rows.count; i++) {
                const struct top_row *row = vec_at(&run->top.rows, i);

                if (top_passes(row, run->screen.filter))
                        row_add(&table, row, snapshot_gpu(&run->last, row->uuid));
        }
        table_print(&table);
}

static void print_gpus(const struct top_run *run)
{
        static const struct table_column columns[] = {
                { "GPU", true, 0, 0 },     { "NAME", false, 12, 0 },      { "USED", true, 0, 0 },
                { "TOTAL", true, 0, 1 },   { "SHARES HOLD", true, 0, 2 }, { "BUSY", true, 0, 0 },
                { "HEALTH", false, 0, 3 },
        };
        struct table table;
        char size[SIZE_TEXT];

        table_init_columns(&table, columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < run->top.gpus.count; i++) {
                const struct top_gpu *gpu = vec_at(&run->top.gpus, i);
                const struct gpu_view *view = &gpu->view;

                if (view->instance)
                        table_add(&table, "%u:%u", view->index, view->instance);
                else
                        table_add(&table, "%u", view->index);
                table_add(&table, "%s", *view->name ? view->name : view->uuid);
                table_add(&table, "%s",
                          size_text(view->is_told ? view->used_bytes : SHARE_UNLIMITED, size));
                table_add(&table, "%s",
                          size_text(view->total_bytes ? view->total_bytes : SHARE_UNLIMITED, size));
                table_add(&table, "%s", size_text(gpu->held_bytes, size));
                ratio_add(&table, gpu->busy_ratio, view->is_busy_told);
                table_add(&table, "%s", view->is_healthy ? "ok" : "unhealthy");
        }
        table_print(&table);
}

static void print_table(const struct top_run *run)
{
        print_rows(run);
        putchar('\n');
        print_gpus(run);
        fflush(stdout);
}

static void troubles_say(const struct top_run *run)
{
        for (size_t i = 0; i < run->last.troubles.count; i++)
                complain(0, "%s", (const char *)vec_at(&run->last.troubles, i));
}

/* Two samples: what was refused in between is trouble. */
static int run_plain(struct top_run *run)
{
        int code = sample(run);

        top_wait_open();
        while (top_wait(run->screen.interval_ms)) {
                code = sample(run);
                if (run->is_json)
                        print_json(run);
                else
                        print_table(run);
                troubles_say(run);
                if (run->is_once || ferror(stdout))
                        return code;
                if (!run->is_json)
                        putchar('\n');
        }
        return EXIT_OK;
}

/* Keys act at once; samples keep their pace. */
static int run_screen(struct top_run *run)
{
        uint64_t next_ns = 0;
        int key;

        do {
                const uint64_t now_ns = clock_now_ns();

                if (now_ns >= next_ns && !run->screen.is_paused) {
                        sample(run);
                        next_ns = now_ns + run->screen.interval_ms * NS_PER_MS;
                }
                top_order(&run->top, run->screen.sort);
                top_view_draw(&run->top, &run->screen);
                const uint64_t left_ns = next_ns > now_ns ? next_ns - now_ns : NS_PER_MS;

                /* Paused, nothing is due: only keys and the terminal count. */
                key = top_view_key(run->screen.is_paused ? 1000
                                                         : (unsigned)(left_ns / NS_PER_MS) + 1);
        } while (top_keys_press(&run->screen, key));
        top_view_close();
        return EXIT_OK;
}

static int interval_parse(const char *text, unsigned *ret_ms)
{
        struct err e = { 0 };
        double seconds;

        if (quantity_parse_number(text, "--interval", 0.1, 60, &seconds, &e) < 0)
                return complain(EXIT_USAGE, "%s", e.text);
        *ret_ms = (unsigned)(seconds * 1000 + 0.5);
        return 0;
}

static int sort_parse(const char *text, enum top_sort *ret_sort)
{
        for (unsigned i = 0; i < TOP_SORTS; i++) {
                if (strcmp(text, top_sort_names[i]) == 0) {
                        *ret_sort = i;
                        return 0;
                }
        }
        return complain(EXIT_USAGE, "cannot sort by '%.40s' (expected cores, memory or name)",
                        text);
}

static int option_take(void *owner, int option, const char *value)
{
        struct top_run *run = owner;

        switch (option) {
        case JSON:
                run->is_json = true;
                return 0;
        case ONCE:
                run->is_once = true;
                return 0;
        case INTERVAL:
                return interval_parse(value, &run->screen.interval_ms);
        case SORT:
                return sort_parse(value, &run->screen.sort);
        case FILTER:
                snprintf(run->screen.filter, sizeof run->screen.filter, "%s", value);
                return 0;
        case COLOUR:
                return scope_option_colour(value);
        case ALL:
                run->scope.is_all = true;
                return 0;
        case USER:
                return scope_option_user(value, &run->scope);
        default:
                return complain_unexpected(value);
        }
}

/* A file or a pipe gets one table; a terminal that cannot be drawn on gets one after the other. */
static int top_show(struct top_run *run)
{
        if (!run->is_json && !isatty(STDOUT_FILENO))
                run->is_once = true;
        return !run->is_json && !run->is_once && top_view_open() ? run_screen(run) : run_plain(run);
}

int command_top(const struct command *command, int argc, char **argv)
{
        struct top_run run = { .screen = { .interval_ms = 1000 }, .scope = scope_option_default() };
        int code;

        if (!arg_parser_each(command, argc, argv, option_take, &run, &code))
                return code;
        run.screen.has_users = run.scope.is_all;
        top_init(&run.top);
        code = top_show(&run);

        snapshot_done(&run.last);
        top_done(&run.top);
        return code;
}
