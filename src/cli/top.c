/* vgpu top: what the shares use, as it happens. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "json_out.h"
#include "quantity.h"
#include "scan.h"
#include "table.h"
#include "top_view.h"

enum { JSON, ONCE, INTERVAL, SORT, FILTER };

const struct cli_option top_options[] = {
        [JSON] = { "json", NULL, "print JSON, one object per look", NULL },
        [ONCE] = { "once", NULL, "look once, print, and end", NULL },
        [INTERVAL] = { "interval", "SECONDS", "from one look to the next; default: 1", NULL },
        [SORT] = { "sort", "KEY", "cores, memory or name; default: cores", "cores memory name" },
        [FILTER] = { "filter", "TEXT", "only shares or programs with TEXT in their name", NULL },
        { 0 },
};

struct top_run {
        struct top top;
        struct top_screen screen;
        bool is_json, is_once;
};

static int look(struct top_run *run)
{
        struct vec usages = VEC_OF(struct usage);
        const int code = usage_take(&usages);

        top_look(&run->top, &usages, clock_now_ns());
        top_order(&run->top, run->screen.sort);
        vec_done(&usages);
        return code;
}

static void pause_for(unsigned ms)
{
        nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

static void row_json(struct json_out *json, const struct top_row *row)
{
        const struct usage *usage = &row->usage;

        json_open(json, NULL, '{');
        json_string(json, "share", usage->share);
        json_string(json, "program", usage->program);
        json_number(json, "processes", usage->processes);
        json_number(json, "gpu", usage->gpu);
        json_string(json, "uuid", usage->uuid);
        json_number(json, "held_bytes", usage->held_bytes);
        json_number(json, "host_bytes", usage->host_bytes);
        if (usage->limit_bytes != SHARE_UNLIMITED)
                json_number(json, "limit_bytes", usage->limit_bytes);
        json_real(json, "cores_used_ratio", row->cores_ratio);
        json_real(json, "throttled_ratio", row->throttled_ratio);
        json_number(json, "cores_percent", usage->cores_percent);
        json_number(json, "cores_max_percent", usage->cores_max_percent);
        json_number(json, "busy_ns", usage->busy_ns);
        json_close(json, '}');
}

static void gpu_json(struct json_out *json, const struct top_gpu *gpu)
{
        json_open(json, NULL, '{');
        json_number(json, "gpu", gpu->number);
        json_string(json, "uuid", gpu->uuid);
        if (gpu->card_bytes)
                json_number(json, "card_bytes", gpu->card_bytes);
        json_number(json, "held_bytes", gpu->held_bytes);
        json_real(json, "cores_used_ratio", gpu->cores_ratio);
        json_close(json, '}');
}

static void print_json(const struct top_run *run)
{
        struct json_out json = { 0 };

        json_open(&json, NULL, '{');
        json_open(&json, "gpus", '[');
        for (size_t i = 0; i < run->top.gpus.count; i++)
                gpu_json(&json, vec_at(&run->top.gpus, i));
        json_close(&json, ']');
        json_open(&json, "shares", '[');
        for (size_t i = 0; i < run->top.rows.count; i++)
                if (top_passes(vec_at(&run->top.rows, i), run->screen.filter))
                        row_json(&json, vec_at(&run->top.rows, i));
        json_close(&json, ']');
        json_close(&json, '}');
        fflush(stdout);
}

static void size_add(struct table *table, uint64_t bytes)
{
        char text[QUANTITY_TEXT_BYTES] = "-";

        if (bytes != SHARE_UNLIMITED)
                quantity_format_bytes(bytes, text);
        table_add(table, "%s", text);
}

static void percent_add(struct table *table, unsigned percent)
{
        if (percent)
                table_add(table, "%u%%", percent);
        else
                table_add(table, "-");
}

static void print_table(const struct top_run *run)
{
        static const char *const titles[] = { "SHARE", "PROCESSES", "GPU",   "HELD", "HOST",
                                              "LIMIT", "CORES",     "LIMIT", "MAX",  "PROGRAM" };
        struct table table;

        table_init(&table, titles, 10);
        for (size_t i = 0; i < run->top.rows.count; i++) {
                const struct top_row *row = vec_at(&run->top.rows, i);

                if (!top_passes(row, run->screen.filter))
                        continue;
                table_add(&table, "%s", row->usage.share);
                table_add(&table, "%u", row->usage.processes);
                table_add(&table, "%u", row->usage.gpu);
                size_add(&table, row->usage.held_bytes);
                size_add(&table, row->usage.host_bytes);
                size_add(&table, row->usage.limit_bytes);
                table_add(&table, "%.1f%%", row->cores_ratio * 100);
                percent_add(&table, row->usage.cores_percent);
                percent_add(&table, row->usage.cores_max_percent);
                table_add(&table, "%s", row->usage.program);
        }
        table_print(&table);
}

/* A rate needs two looks. */
static int run_plain(struct top_run *run)
{
        int code = look(run);

        do {
                pause_for(run->screen.interval_ms);
                const int r = look(run);

                code = r ? r : code;
                if (run->is_json)
                        print_json(run);
                else
                        print_table(run);
        } while (!run->is_once && !ferror(stdout));
        return code;
}

/* Keys act at once; looks keep their pace. */
static int run_screen(struct top_run *run)
{
        uint64_t next_ns = 0;
        int code = EXIT_OK, key = -1;

        top_view_open();
        do {
                const uint64_t now_ns = clock_now_ns();

                if (now_ns >= next_ns && !run->screen.is_paused) {
                        code = look(run);
                        next_ns = now_ns + run->screen.interval_ms * NS_PER_MS;
                }
                top_order(&run->top, run->screen.sort);
                top_view_draw(&run->top, &run->screen);
                const uint64_t left_ns = next_ns > now_ns ? next_ns - now_ns : NS_PER_MS;

                key = top_view_key((unsigned)(left_ns / NS_PER_MS) + 1);
        } while (top_view_press(&run->screen, key));
        top_view_close();
        return code;
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
        return complain(EXIT_USAGE, "'%s' is no order of 'vgpu top': cores, memory or name", text);
}

static int option_take(struct top_run *run, int option, const char *value)
{
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
        default:
                return complain(EXIT_USAGE, "'vgpu top' takes no '%s'", value);
        }
}

int command_top(const struct command *command, int argc, char **argv)
{
        struct top_run run = { .screen = { .interval_ms = 1000 } };
        struct scan scan;
        int option;

        scan_init(&scan, command, argc, argv);
        while ((option = scan_next(&scan)) != SCAN_END) {
                if (option == SCAN_BAD || option == SCAN_HELP)
                        return scan_exit(&scan, option);
                const int code = option_take(&run, option, scan.value);

                if (code)
                        return code;
        }
        const bool is_screen = !run.is_json && !run.is_once;

        if (is_screen && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
                return complain(EXIT_USAGE,
                                "'vgpu top' draws on a terminal; elsewhere use --once or --json");
        top_init(&run.top);
        const int code = is_screen ? run_screen(&run) : run_plain(&run);

        top_done(&run.top);
        return code;
}
