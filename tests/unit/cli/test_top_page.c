/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `vgpu top` at every size, and in every state. */
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>

#include "cell_text.h"
#include "top_bench.h"
#include "top_layout.h"
#include "top_view.h"
#include "unit.h"

enum { TEXT = 4096 };

static void canvas_line(const struct canvas *canvas, unsigned row, char text[static TEXT])
{
        size_t used = 0;

        for (unsigned x = 0; x < canvas->columns; x++) {
                const char *cell = canvas_at(canvas, row, x)->text;

                memcpy(text + used, cell, strlen(cell));
                used += strlen(cell);
        }
        while (used && text[used - 1] == ' ')
                used--;
        text[used] = '\0';
}

struct shot {
        struct canvas canvas;
        struct top_screen screen;
        char text[200 * 1024]; /* all lines */
};

/* Draws; every line is as wide as the screen, whatever is in it. */
static void shot_take(struct shot *shot, struct bench *bench, unsigned rows, unsigned columns)
{
        char line[TEXT];

        canvas_done(&shot->canvas);
        CHECK_EQ(canvas_init(&shot->canvas, rows, columns), 0);
        shot->screen.interval_ms = 1000;
        top_order(&bench->top, shot->screen.sort);
        top_page_draw(&shot->canvas, &bench->top, &shot->screen);
        shot->text[0] = '\0';
        for (unsigned y = 0; y < rows; y++) {
                canvas_line(&shot->canvas, y, line);
                CHECK(cell_text_width(line) <= columns);
                strcat(strcat(shot->text, line), "\n");
        }
}

static void shot_done(struct shot *shot)
{
        canvas_done(&shot->canvas);
        free(shot);
}

static struct shot *shot_new(void)
{
        struct shot *shot = calloc(1, sizeof *shot);

        CHECK(shot != NULL);
        return shot;
}

static bool has_style(const struct shot *shot, enum canvas_style style)
{
        for (size_t i = 0; i < (size_t)shot->canvas.rows * shot->canvas.columns; i++)
                if (shot->canvas.cells[i].style == style)
                        return true;
        return false;
}

#define GIB (UINT64_C(1) << 30)

/* Two GPUs of one kind, two shares and a stranger. */
static void bench_usual(struct bench *bench)
{
        bench_open(bench);
        bench_gpu(bench, 0, "GPU-1", "NVIDIA A100-SXM4-40GB")->used_bytes = 12 * GIB;
        bench_gpu(bench, 1, "GPU-2", "NVIDIA A100-SXM4-40GB")->used_bytes = 1 * GIB;
        struct share_gpu *train = bench_share(bench, "train", "GPU-1");

        train->limit_bytes = 16 * GIB;
        train->physical_bytes = 8 * GIB;
        train->cores_percent = 30;
        bench_process(bench, 0, 4321, "python3");
        bench_share(bench, "eval", "GPU-1")->limit_bytes = 4 * GIB;
        bench_stranger(bench, "alice", 77, "GPU-2");
        bench_sample(bench, 0);
        bench_share_at(bench, 0)->cores_used_percent = 30;
        bench_sample(bench, NS_PER_S);
}

TEST(eighty_columns)
{
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        shot_take(shot, &bench, 7, 80);
        CHECK_STR(
                shot->text,
                " vgpu top   2 GPUs   2 shares   by cores   every 1 s                     ? help\n"
                "  SHARE                        MEMORY                   CORES\n"
                "0 A100-SXM4-40GB  shares 8.0G  [||+      ] 12.0/40.0G   [|||      ] 30.0%\n"
                "  train                        [|||||    ] 8.0/16.0G    [|||:     ] 30.0/30%\n"
                "  eval                         [         ] 0/4096M      [         ] 0.0%\n"
                "1 A100-SXM4-40GB  shares 0.0G  [         ] 1.0/40.0G    [         ] 0.0%\n"
                "  (alice) python3 train.py 77  [         ] 1024M\n");
        CHECK(!has_style(shot, STYLE_TROUBLE));
        shot_done(shot);
        bench_close(&bench);
}

TEST(forty_columns_and_ten_lines)
{
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        shot_take(shot, &bench, 10, 40);
        CHECK_STR(shot->text, " vgpu top   2 GPUs   2 shares    ? help\n"
                              "  SHARE              MEMORY        CORES\n"
                              "0 A100-SXM4-4…   12.0/40.0G        30.0%\n"
                              "  train           8.0/16.0G     30.0/30%\n"
                              "  eval              0/4096M         0.0%\n"
                              "1 A100-SXM4-4…    1.0/40.0G         0.0%\n"
                              "  (alice) pyt…        1024M\n"
                              "\n\n\n");
        shot_done(shot);
        bench_close(&bench);
}

TEST(a_tiny_screen_still_says_something)
{
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        shot_take(shot, &bench, 4, 20);
        CHECK_STR(shot->text, " vgpu top         ?\n"
                              "0 A100…   12.0/40.0G\n"
                              "  train    8.0/16.0G\n"
                              "  eval       0/4096M\n");
        shot_done(shot);
        bench_close(&bench);
}

TEST(a_wide_screen_has_programs_pids_and_whole_names)
{
        static const char name[] =
                "a-share-with-a-name-of-sixty-three-letters-0123456789-0123456789";
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        str_copy(((struct share_view *)vec_at(&bench.snapshot.shares, 0))->name, 64, name);
        bench_sample(&bench, NS_PER_S);
        for (unsigned columns = 120; columns <= 300; columns += 20) {
                shot_take(shot, &bench, 100, columns);
                CHECK(strstr(shot->text,
                             "a-share-with-a-name-of-sixty-three-letters-0123456789-01234567"));
                CHECK(strstr(shot->text, "4321") && strstr(shot->text, "python3"));
                CHECK(strstr(shot->text, "NVIDIA A100-SXM4-40GB  shares 8.0G"));
        }
        CHECK(strstr(shot->text, "[||||||||||||||||||||||||")); /* long bars on a wide screen */
        shot_done(shot);
        bench_close(&bench);
}

TEST(bars_grow_and_nothing_overlaps_at_any_width)
{
        const struct top_need need = { .name = 20, .user = 6, .pid = 7, .program = 20 };
        unsigned before = 0;

        for (unsigned columns = 1; columns <= 400; columns++) {
                const struct top_layout layout = top_layout_make(columns, &need);
                const unsigned end = layout.past         ? top_layout_past(&layout) + layout.past
                                     : layout.has_cores  ? top_layout_past(&layout) - 1
                                     : layout.has_memory ? top_layout_cores(&layout) - 1
                                                         : layout.name;

                CHECK(end <= columns);
                CHECK(columns < TOP_WIDE || (layout.pid == 7 && layout.program >= 12));
                CHECK(columns < TOP_WIDE || layout.bar >= 8);
                CHECK(columns < 80 || layout.bar > 8);
                CHECK(columns < 200 || layout.bar >= before);
                before = layout.bar;
        }
}

TEST(the_header_stays_while_rows_scroll)
{
        struct bench bench;
        struct shot *shot = shot_new();
        char name[32], first[TEXT];

        bench_open(&bench);
        bench_gpu(&bench, 0, "GPU-1", "NVIDIA H100");
        for (unsigned i = 0; i < 200; i++) {
                snprintf(name, sizeof name, "share-%03u", i);
                bench_share(&bench, name, "GPU-1");
        }
        bench_sample(&bench, 0);
        shot->screen.sort = TOP_BY_NAME;
        shot_take(shot, &bench, 24, 80);
        CHECK(strstr(shot->text, "lines 1-22 of 201") && strstr(shot->text, "share-020"));
        canvas_line(&shot->canvas, 1, first);
        shot->screen.scroll = 100000;
        shot_take(shot, &bench, 24, 80);
        CHECK_EQ(shot->screen.scroll, 201 - 22);
        CHECK(strstr(shot->text, "vgpu top   lines 180-201 of 201"));
        CHECK(strstr(shot->text, first) && strstr(shot->text, "share-199"));
        CHECK(!strstr(shot->text, "share-020"));
        shot->screen.scroll = 0;
        strcpy(shot->screen.filter, "199");
        shot_take(shot, &bench, 24, 80);
        CHECK(strstr(shot->text, "filter: 199") && strstr(shot->text, "share-199"));
        strcpy(shot->screen.filter, "no such");
        shot_take(shot, &bench, 24, 80);
        CHECK(strstr(shot->text, "nothing matches 'no such'"));
        shot_done(shot);
        bench_close(&bench);
}

TEST(sixteen_gpus_and_none)
{
        struct bench bench;
        struct shot *shot = shot_new();
        char uuid[16];

        bench_open(&bench);
        bench_sample(&bench, 0);
        shot_take(shot, &bench, 24, 80);
        CHECK(strstr(shot->text, "0 GPUs") && strstr(shot->text, "no GPU: no driver was found"));
        CHECK(strstr(shot->text, "no shares"));
        for (unsigned i = 0; i < 16; i++) {
                snprintf(uuid, sizeof uuid, "GPU-%u", i);
                bench_gpu(&bench, i, uuid, "NVIDIA H100 80GB HBM3");
        }
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 24, 80);
        CHECK(strstr(shot->text, "16 GPUs") && strstr(shot->text, "\n15 H100 80GB HBM3"));
        CHECK(!strstr(shot->text, "GPU-15")); /* the product's name in its place */
        shot_done(shot);
        bench_close(&bench);
}

TEST(red_is_for_trouble)
{
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        bench_share_at(&bench, 0)->physical_bytes = 16 * GIB - 1; /* nearly full is well */
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 20, 160);
        CHECK(!has_style(shot, STYLE_TROUBLE));
        bench_share_at(&bench, 0)->refusals = 2;
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 20, 160);
        CHECK(has_style(shot, STYLE_TROUBLE));
        CHECK(strstr(shot->text, "\n! train") && strstr(shot->text, "memory refused"));
        ((struct gpu_view *)vec_at(&bench.snapshot.gpus, 1))->is_healthy = false;
        bench_sample(&bench, 60 * NS_PER_S);
        shot_take(shot, &bench, 20, 80);
        CHECK(!strstr(shot->text, "\n! train") && strstr(shot->text, "! unhealthy"));
        shot_done(shot);
        bench_close(&bench);
}

TEST(an_unknown_figure_is_not_shown_as_zero)
{
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        struct gpu_view *gpu = vec_at(&bench.snapshot.gpus, 1);

        gpu->is_busy_told = false; /* a MIG device of the driver */
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 10, 40);
        CHECK(strstr(shot->text, "\n1 A100-SXM4-4…    1.0/40.0G            -\n"));
        gpu->is_told = false;
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 10, 40);
        CHECK(strstr(shot->text, "\n1 A100-SXM4-4…      -/40.0G            -\n"));
        gpu->total_bytes = 0;
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 10, 40);
        CHECK(strstr(shot->text, "\n1 A100-SXM4-4…            -            -\n"));
        shot_done(shot);
        bench_close(&bench);
}

TEST(what_cannot_be_read_is_said_in_the_last_line)
{
        struct bench bench;
        struct shot *shot = shot_new();
        char trouble[SNAPSHOT_TEXT] =
                "cannot open machine '/dev/shm/lab': No such file or directory";

        bench_usual(&bench);
        CHECK_EQ(vec_push(&bench.snapshot.troubles, trouble), 0);
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 10, 80);
        CHECK(strstr(shot->text, "\n! cannot open machine '/dev/shm/lab'"));
        shot_take(shot, &bench, 3, 30);
        CHECK(strstr(shot->text, "\n! cannot open machine '/dev/s…\n"));
        shot_done(shot);
        bench_close(&bench);
}

TEST(names_are_harmless)
{
        static const char *const names[] = { "\033[31mred\033[2J",
                                             "a\nb\tc\rd",
                                             "漢字漢字漢字漢字漢字漢字漢字漢字",
                                             "\xff\xfe\x80",
                                             "\u202eevil",
                                             "e\u0301\u0301\u0301",
                                             "😀😀😀" };
        struct bench bench;
        struct shot *shot = shot_new();

        bench_open(&bench);
        bench_gpu(&bench, 0, "GPU-1", "A\033[0mB");
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
                bench_share(&bench, names[i], "GPU-1");
                bench_process(&bench, i, (pid_t)i + 1, names[i]);
        }
        bench_sample(&bench, 0);
        for (unsigned columns = 1; columns <= 200; columns++) {
                shot_take(shot, &bench, 12, columns);
                for (const char *at = shot->text; *at; at++)
                        CHECK(*at == '\n' || (unsigned char)*at >= ' ');
        }
        CHECK(strstr(shot->text, "?[31mred?[2J") && strstr(shot->text, "漢字漢字"));
        CHECK(strstr(shot->text, "?evil") && !strstr(shot->text, "\xff"));
        shot_done(shot);
        bench_close(&bench);
}

static void keys_press(struct shot *shot, const char *keys)
{
        for (; *keys; keys++)
                CHECK(top_keys_press(&shot->screen, (unsigned char)*keys));
}

TEST(help_begins_at_its_top_and_the_rows_stay_where_they_were)
{
        struct bench bench;
        struct shot *shot = shot_new();
        char name[32];

        bench_open(&bench);
        bench_gpu(&bench, 0, "GPU-1", "NVIDIA H100");
        for (unsigned i = 0; i < 50; i++) {
                snprintf(name, sizeof name, "share-%03u", i);
                bench_share(&bench, name, "GPU-1");
        }
        bench_sample(&bench, 0);
        top_keys_press(&shot->screen, KEY_END);
        shot_take(shot, &bench, 10, 40);
        CHECK_EQ(shot->screen.scroll, 51 - 8);
        keys_press(shot, "?");
        shot_take(shot, &bench, 10, 40);
        CHECK(strstr(shot->text, "lines 1-9 of ") && strstr(shot->text, "\n  q         leave\n"));
        keys_press(shot, "j?");
        shot_take(shot, &bench, 10, 40);
        CHECK_EQ(shot->screen.scroll, 51 - 8);
        keys_press(shot, "/");
        CHECK_EQ(shot->screen.scroll, 0);
        shot_done(shot);
        bench_close(&bench);
}

TEST(help_is_whole_at_every_width)
{
        static const char *const words[] = { "leave",      "Escape",         "drops",    "others",
                                             "cores over", "region damaged", "unhealthy" };
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        keys_press(shot, "?");
        for (unsigned columns = 30; columns <= 200; columns += 10) {
                shot_take(shot, &bench, 60, columns);
                CHECK(!strstr(shot->text, "…"));
                for (char *at; (at = strstr(shot->text, "\n            "));) {
                        *at = ' '; /* as if it were not wrapped */
                        memmove(at + 1, at + 13, strlen(at + 13) + 1);
                }
                for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
                        CHECK(strstr(shot->text, words[i]));
        }
        shot_done(shot);
        bench_close(&bench);
}

TEST(a_share_that_works_elsewhere_has_no_idle_line)
{
        struct bench bench;
        struct shot *shot = shot_new();

        bench_usual(&bench);
        struct share_view *share = vec_at(&bench.snapshot.shares, 1);
        struct share_gpu gpu = { .limit_bytes = 4 * GIB, .is_used_known = true };

        str_copy(gpu.uuid, sizeof gpu.uuid, "GPU-2");
        CHECK_EQ(vec_push(&share->gpus, &gpu), 0);
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 10, 40);
        CHECK(strstr(strstr(shot->text, "\n  eval"),
                     "\n1 A100")); /* idle everywhere: under GPU 0 */
        ((struct share_gpu *)vec_at(&share->gpus, 1))->physical_bytes = 1 * GIB;
        bench_sample(&bench, NS_PER_S);
        shot_take(shot, &bench, 10, 40);
        const char *line = strstr(shot->text, "\n  eval");

        CHECK(line && !strstr(line + 1, "\n  eval") && !strstr(line, "\n1 A100"));
        CHECK(strstr(line, "1024/4096M"));
        shot_done(shot);
        bench_close(&bench);
}

TEST(a_filter_has_spaces_and_every_letter)
{
        struct shot *shot = shot_new();

        keys_press(shot, "/é 漢字");
        CHECK_STR(shot->screen.filter, "é 漢字");
        keys_press(shot, "\x7f\x7f");
        CHECK_STR(shot->screen.filter, "é ");
        keys_press(shot, "\xe6\x80\xff\xbf"
                         "a");
        CHECK_STR(shot->screen.filter, "é a"); /* what is no UTF-8 is left out */
        keys_press(shot, "\xe6\n");
        CHECK_STR(shot->screen.filter, "é a");
        keys_press(shot, "/");
        for (unsigned i = 0; i < 40; i++)
                keys_press(shot, "漢");
        CHECK_EQ(strlen(shot->screen.filter), 4 + 57); /* whole characters, as many as fit */
        shot_done(shot);
}

TEST(a_name_that_was_cut_ends_with_a_whole_character)
{
        static const char *const texts[][2] = {
                { "abc", "abc" },         { "a漢\xe5\xad", "a漢" }, { "a\xe5", "a" },
                { "a\xf0\x9f\x98", "a" }, { "a漢", "a漢" },         { "\xff\xe5z", "\xff\xe5z" },
        };
        char text[16];

        for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
                str_copy(text, sizeof text, texts[i][0]);
                cell_text_trim(text);
                CHECK_STR(text, texts[i][1]);
        }
}

int main(void)
{
        setenv("LC_ALL", "C.UTF-8", 1);
        return RUN(CASE(eighty_columns), CASE(forty_columns_and_ten_lines),
                   CASE(a_tiny_screen_still_says_something),
                   CASE(a_wide_screen_has_programs_pids_and_whole_names),
                   CASE(bars_grow_and_nothing_overlaps_at_any_width),
                   CASE(the_header_stays_while_rows_scroll), CASE(sixteen_gpus_and_none),
                   CASE(red_is_for_trouble), CASE(an_unknown_figure_is_not_shown_as_zero),
                   CASE(what_cannot_be_read_is_said_in_the_last_line), CASE(names_are_harmless),
                   CASE(help_begins_at_its_top_and_the_rows_stay_where_they_were),
                   CASE(help_is_whole_at_every_width),
                   CASE(a_share_that_works_elsewhere_has_no_idle_line),
                   CASE(a_filter_has_spaces_and_every_letter),
                   CASE(a_name_that_was_cut_ends_with_a_whole_character));
}
