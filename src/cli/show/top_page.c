/* SPDX-License-Identifier: Apache-2.0 */
/* Banner, titles, body and troubles of the screen. */
#include "top_page.h"

#include <stdio.h>
#include <string.h>

#include "cell_text.h"
#include "top_line.h"

enum { TITLED_ROWS = 5 }; /* a lower screen has no line to spare for titles */

static void need_measure(const struct top *top, const struct top_screen *screen,
                         struct top_need *ret_need)
{
        struct top_need need = { .pid = sizeof "PID" - 1 };
        char label[SNAPSHOT_TEXT];

        for (size_t i = 0; i < top->rows.count; i++) {
                const struct top_row *row = vec_at(&top->rows, i);
                const unsigned pid = cell_text_width(row->pid);
                const unsigned program = cell_text_width(row->program);
                const unsigned user = cell_text_width(row->user);

                top_line_label(row, true, label);
                const unsigned name = cell_text_width(label) + TOP_LINE_INDENT;

                need.name = name > need.name ? name : need.name;
                need.pid = pid > need.pid ? pid : need.pid;
                need.program = program > need.program ? program : need.program;
                need.user = screen->has_users && user > need.user ? user : need.user;
        }
        if (need.user && need.user < sizeof "USER" - 1)
                need.user = sizeof "USER" - 1;
        *ret_need = need;
}

/* Piece by piece, as many as fit beside the last. */
static void banner_draw(struct canvas *canvas, const struct top *top,
                        const struct top_screen *screen, const char *position)
{
        char pieces[8][96], line[1024] = "";
        const char *end = canvas->columns >= 24 ? "? help " : "? ";
        const unsigned kept = (unsigned)strlen(end) + 2;
        const unsigned space = canvas->columns > kept ? canvas->columns - kept : 0;
        const bool has_filter = *screen->filter || screen->is_typing;

        snprintf(pieces[0], sizeof pieces[0], " vgpu top");
        snprintf(pieces[1], sizeof pieces[1], "%s%s%s", has_filter ? "filter: " : "",
                 screen->filter, screen->is_typing ? "_" : "");
        snprintf(pieces[2], sizeof pieces[2], "%s", screen->is_paused ? "paused" : "");
        snprintf(pieces[3], sizeof pieces[3], "%s", position);
        snprintf(pieces[4], sizeof pieces[4], "%zu GPU%s", top->gpus.count,
                 top->gpus.count == 1 ? "" : "s");
        snprintf(pieces[5], sizeof pieces[5], "%u share%s", top->share_count,
                 top->share_count == 1 ? "" : "s");
        snprintf(pieces[6], sizeof pieces[6], "by %s", top_sort_names[screen->sort]);
        snprintf(pieces[7], sizeof pieces[7], "every %g s", screen->interval_ms / 1000.0);
        for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++) {
                const size_t length = strlen(line);

                if (!*pieces[i] ||
                    cell_text_width(line) + cell_text_width(pieces[i]) + 3u * !!i > space)
                        continue;
                snprintf(line + length, sizeof line - length, "%s%s", i ? "   " : "", pieces[i]);
        }
        canvas_put(canvas, 0, 0, canvas->columns, STYLE_BANNER, *line ? line : " vgpu top");
        if (canvas->columns >= 12)
                canvas_put_right(canvas, 0, 0, canvas->columns, STYLE_BANNER, end);
}

static void titles_draw(struct canvas *canvas, const struct top_layout *layout, unsigned row)
{
        const struct {
                unsigned column, width;
                const char *text;
                bool is_right;
        } titles[] = {
                { TOP_LINE_INDENT, layout->name - TOP_LINE_INDENT, "SHARE", false },
                { top_layout_user(layout), layout->user, "USER", false },
                { top_layout_pid(layout), layout->pid, "PID", true },
                { top_layout_program(layout), layout->program, "PROGRAM", false },
                { top_layout_memory(layout), layout->has_memory ? TOP_MEMORY_CELLS : 0, "MEMORY",
                  !layout->bar },
                { top_layout_cores(layout), layout->has_cores ? TOP_CORES_CELLS : 0, "CORES",
                  !layout->bar },
                { top_layout_past(layout), layout->past, "PAST", false },
        };

        for (unsigned i = 0; i < sizeof titles / sizeof *titles; i++)
                if (titles[i].width && titles[i].width <= layout->columns)
                        (titles[i].is_right ? canvas_put_right : canvas_put)(
                                canvas, row, titles[i].column, titles[i].width, STYLE_DIM,
                                titles[i].text);
}

/* The body: lines that scroll between the titles and the troubles. */
struct body {
        struct canvas *canvas;
        const struct top_layout *layout;
        unsigned first, end; /* rows of the canvas */
        unsigned scroll, line;
};

/* Where the next line goes; UINT_MAX: it is not on the screen. */
static unsigned line_next(struct body *body)
{
        const unsigned line = body->line++;

        if (line < body->scroll || line - body->scroll >= body->end - body->first)
                return UINT32_MAX;
        return body->first + line - body->scroll;
}

static void text_line(struct body *body, enum canvas_style style, const char *text)
{
        const unsigned row = line_next(body);

        if (row != UINT32_MAX)
                canvas_put(body->canvas, row, 0, body->canvas->columns, style, text);
}

/* As many words as fit, the rest in further lines under the first. */
static void help_line(struct body *body, const char *key, const char *text)
{
        const unsigned columns = body->canvas->columns, indent = 12;
        const unsigned width = columns > indent + 8 ? columns - indent : 8;
        char line[256];

        do {
                size_t length = strlen(text), next = length;

                if (length > width) {
                        for (length = width; length > 0 && text[length] != ' ';)
                                length--;
                        next = length ? length + 1 : width;
                        length = length ? length : width;
                }
                snprintf(line, sizeof line, "%-*s%.*s", (int)indent, key, (int)length, text);
                text_line(body, STYLE_PLAIN, line);
                text += next;
                key = "";
        } while (*text);
}

static void help_lines(struct body *body)
{
        static const char *const lines[][2] = {
                { "", "" },
                { "  q", "leave" },
                { "  c m n", "sort by cores, memory, name" },
                { "  /", "filter by share, user or program; Enter keeps it, Escape drops it" },
                { "  + -", "sample less often, more often" },
                { "  space", "pause" },
                { "  up down", "scroll; also page up, page down, home, end" },
                { "", "" },
                { "  MEMORY", "memory and limit of a share; of a GPU: | shares, + others" },
                { "  CORES", "GPU time of the last second; ':' is the limit of a share" },
                { "  !", "memory refused, at or over its limit; cores over limit; region damaged; "
                         "or the GPU is unhealthy" },
        };

        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
                help_line(body, lines[i][0], lines[i][1]);
}

static bool share_is_idle(const struct top *top, const struct top_row *share)
{
        for (size_t i = 0; i < top->rows.count; i++) {
                const struct top_row *row = vec_at(&top->rows, i);

                if (!row->is_stranger && !top_row_is_idle(row) &&
                    strcmp(row->share, share->share) == 0 && strcmp(row->user, share->user) == 0)
                        return false;
        }
        return true;
}

/* Many shares may use every GPU and use one: the others are not worth a line. One that uses none has its line
 * under the first. */
static bool row_is_shown(const struct top *top, const struct top_row *row,
                         const struct top_gpu *gpu, const char *filter)
{
        return strcmp(row->uuid, gpu->view.uuid) == 0 && top_passes(row, filter) &&
               (row->is_stranger || !top_row_is_idle(row) ||
                (row->trouble && row->trouble != TOP_FAULT) ||
                (row->is_first && share_is_idle(top, row)));
}

static unsigned gpu_lines(struct body *body, const struct top *top, const struct top_gpu *gpu,
                          const char *filter)
{
        unsigned row = line_next(body), shown = 0;

        if (row != UINT32_MAX)
                top_line_gpu(body->canvas, row, body->layout, gpu);
        for (size_t i = 0; i < top->rows.count; i++) {
                const struct top_row *share = vec_at(&top->rows, i);

                if (!row_is_shown(top, share, gpu, filter))
                        continue;
                shown++;
                row = line_next(body);
                if (row != UINT32_MAX)
                        top_line_row(body->canvas, row, body->layout, share, gpu);
        }
        return shown;
}

static void body_lines(struct body *body, const struct top *top, const char *filter)
{
        unsigned shown = 0;
        char text[128];

        for (size_t i = 0; i < top->gpus.count; i++)
                shown += gpu_lines(body, top, vec_at(&top->gpus, i), filter);
        if (top->gpus.count == 0)
                text_line(body, STYLE_PLAIN,
                          "  no GPU: no driver was found, and no program uses one");
        if (shown)
                return;
        snprintf(text, sizeof text, "  nothing matches '%.64s'", filter);
        text_line(body, STYLE_DIM, *filter ? text : "  no shares");
        if (!*filter)
                text_line(body, STYLE_DIM,
                          "  make one: vgpu run --memory SIZE --cores PERCENT -- PROGRAM");
}

static void lines_draw(struct body *body, const struct top *top, const struct top_screen *screen)
{
        body->line = 0;
        if (screen->is_help)
                help_lines(body);
        else
                body_lines(body, top, screen->filter);
}

static void troubles_draw(struct canvas *canvas, const struct top *top)
{
        char text[SNAPSHOT_TEXT + 64], more[48] = "";

        if (top->troubles.count > 1)
                snprintf(more, sizeof more, " (and %zu more)", top->troubles.count - 1);
        snprintf(text, sizeof text, "! %s%s", (const char *)vec_at(&top->troubles, 0), more);
        canvas_put(canvas, canvas->rows - 1, 0, canvas->columns, STYLE_TROUBLE, text);
}

void top_page_draw(struct canvas *canvas, const struct top *top, struct top_screen *screen)
{
        const bool has_titles = canvas->rows >= TITLED_ROWS && !screen->is_help;
        const bool has_troubles = top->troubles.count && canvas->rows > 2;
        char position[64] = "";
        struct top_need need;

        if (canvas->rows == 0 || canvas->columns == 0)
                return;
        need_measure(top, screen, &need);
        const struct top_layout layout = top_layout_make(canvas->columns, &need);
        struct body body = { .canvas = canvas,
                             .layout = &layout,
                             .first = has_titles ? 2 : 1,
                             .end = canvas->rows - has_troubles,
                             .scroll = UINT32_MAX };

        if (body.end < body.first)
                body.end = body.first;
        lines_draw(&body, top, screen); /* beyond the end: counts them */
        screen->page = body.end - body.first;
        const unsigned last = body.line > screen->page ? body.line - screen->page : 0;

        screen->scroll = screen->scroll < last ? screen->scroll : last;
        body.scroll = screen->scroll;
        /* Where not all lines are on the screen: which are. */
        if (last)
                snprintf(position, sizeof position, "lines %u-%u of %u", body.scroll + 1,
                         body.scroll + screen->page, body.line);
        banner_draw(canvas, top, screen, position);
        if (has_titles)
                titles_draw(canvas, &layout, 1);
        lines_draw(&body, top, screen);
        if (has_troubles)
                troubles_draw(canvas, top);
}
