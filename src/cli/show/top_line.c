/* SPDX-License-Identifier: Apache-2.0 */
/* Bars, figures and the past of a line. */
#include "top_line.h"

#include <stdio.h>
#include <string.h>

#include "cell_text.h"
#include "size_text.h"
#include "str.h"

static unsigned cells(double ratio, unsigned width)
{
        const double wanted = ratio * width + 0.5;

        return wanted <= 0 ? 0 : wanted >= width ? width : (unsigned)wanted;
}

struct bar {
        double shares, others; /* of the whole, 0…1 */
        double mark;           /* where the limit lies; < 0: none */
        enum canvas_style style;
};

static void bar_draw(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                     const struct bar *bar)
{
        const unsigned shares = cells(bar->shares, width);
        const unsigned all = cells(bar->shares + bar->others, width);
        const unsigned marked = bar->mark < 0 || bar->mark >= 1 ? width : cells(bar->mark, width);

        canvas_put(canvas, row, column, 1, STYLE_DIM, "[");
        for (unsigned i = 0; i < width; i++) {
                const enum canvas_style style = i < shares ? bar->style
                                                : i < all  ? STYLE_OTHERS
                                                           : STYLE_DIM;

                canvas_put(canvas, row, column + 1 + i, 1, style,
                           i == marked  ? ":"
                           : i < shares ? "|"
                           : i < all    ? "+"
                                        : " ");
        }
        canvas_put(canvas, row, column + 1 + width, 1, STYLE_DIM, "]");
}

static void history_draw(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                         const struct top_history *history)
{
        static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        static const char *const letters[] = { " ", ".", ".", ":", "-", "=", "+", "*", "#" };
        const unsigned shown = history->count < layout->past ? history->count : layout->past;
        const unsigned column = top_layout_past(layout);

        for (unsigned i = 0; i < shown; i++) {
                const unsigned height = cells(history->values[history->count - shown + i], 8);

                canvas_put(canvas, row, column + i, 1, STYLE_DIM,
                           cell_text_is_utf8() ? blocks[height] : letters[height]);
        }
}

static void figure_draw(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                        bool is_left, enum canvas_style style, const char *text)
{
        (is_left ? canvas_put : canvas_put_right)(canvas, row, column, width, style, text);
}

static void memory_draw(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                        const struct bar *bar, enum canvas_style style, const char *text)
{
        unsigned column = top_layout_memory(layout);

        if (!layout->has_memory)
                return;
        if (layout->bar) {
                if (bar)
                        bar_draw(canvas, row, column, layout->bar, bar);
                column += layout->bar + 3;
        }
        figure_draw(canvas, row, column, TOP_MEMORY_CELLS, layout->bar, style, text);
}

static void cores_draw(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                       const struct bar *bar, enum canvas_style style, const char *text)
{
        unsigned column = top_layout_cores(layout);

        if (!layout->has_cores)
                return;
        if (layout->bar) {
                if (bar)
                        bar_draw(canvas, row, column, layout->bar, bar);
                column += layout->bar + 3;
        }
        figure_draw(canvas, row, column, TOP_CORES_CELLS, layout->bar, style, text);
}

/* "0 NVIDIA A100-SXM4-40GB   shares 8.0G", as much of it as fits. */
static void gpu_label(const struct gpu_view *view, uint64_t held, unsigned width,
                      char label[static SNAPSHOT_TEXT])
{
        char number[24], size[SIZE_TEXT], shares[48];
        const char *name = *view->name ? view->name : view->uuid;

        if (view->instance)
                snprintf(number, sizeof number, "%u:%u", view->index, view->instance);
        else
                snprintf(number, sizeof number, "%u", view->index);
        snprintf(shares, sizeof shares, "  shares %s",
                 size_text_part(held, view->total_bytes, size));
        for (unsigned attempt = 0; attempt < 3; attempt++) {
                snprintf(label, SNAPSHOT_TEXT, "%s %s%s", number, name, attempt == 2 ? "" : shares);
                if (cell_text_width(label) <= width)
                        return;
                name = gpu_short_name(name);
        }
}

static void percent_text(double ratio, char text[static 16])
{
        snprintf(text, 16, ratio >= 0.9995 ? "%.0f" : "%.1f", ratio * 100);
}

/* "-/40.0G" where no driver says what is used. */
static void gpu_memory_text(const struct gpu_view *view, uint64_t used, char *text, size_t size)
{
        char whole[SIZE_TEXT];

        if (view->is_told)
                size_text_of(used, view->total_bytes ? view->total_bytes : SHARE_UNLIMITED, text);
        else if (view->total_bytes)
                snprintf(text, size, "-/%s",
                         size_text_part(view->total_bytes, view->total_bytes, whole));
        else
                snprintf(text, size, "-");
}

void top_line_gpu(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                  const struct top_gpu *gpu)
{
        const struct gpu_view *view = &gpu->view;
        const uint64_t used = view->is_told && view->used_bytes > gpu->held_bytes ? view->used_bytes
                                                                                  : gpu->held_bytes;
        const double total = (double)view->total_bytes;
        const unsigned width = layout->has_memory ? top_layout_memory(layout) - 1 : layout->columns;
        char text[SNAPSHOT_TEXT], number[16];

        gpu_label(view, gpu->held_bytes, width, text);
        canvas_put(canvas, row, 0, width, view->is_healthy ? STYLE_BOLD : STYLE_TROUBLE, text);
        if (!view->is_healthy) {
                memory_draw(canvas, row, layout, NULL, STYLE_TROUBLE, "! unhealthy");
                return;
        }
        const struct bar memory = { .shares = total > 0 ? (double)gpu->held_bytes / total : 0,
                                    .others = total > 0 ? (double)(used - gpu->held_bytes) / total
                                                        : 0,
                                    .mark = -1,
                                    .style = STYLE_SHARES };
        const struct bar cores = { .shares = gpu->cores_ratio,
                                   .others = gpu->busy_ratio - gpu->cores_ratio,
                                   .mark = -1,
                                   .style = STYLE_SHARES };

        gpu_memory_text(view, used, text, sizeof text);
        memory_draw(canvas, row, layout, &memory, STYLE_PLAIN, text);
        percent_text(gpu->busy_ratio, number);
        snprintf(text, sizeof text, view->is_busy_told ? "%s%%" : "-", number);
        cores_draw(canvas, row, layout, &cores, STYLE_PLAIN, text);
        history_draw(canvas, row, layout, &gpu->history);
}

void top_line_label(const struct top_row *row, bool has_program, char ret_label[SNAPSHOT_TEXT])
{
        if (!row->is_stranger)
                snprintf(ret_label, SNAPSHOT_TEXT, "%s", row->share);
        else if (has_program)
                snprintf(ret_label, SNAPSHOT_TEXT, "%s",
                         row->is_other_user ? "(other user)" : "(no share)");
        else
                snprintf(ret_label, SNAPSHOT_TEXT, "(%s) %.120s %s",
                         *row->user ? row->user : "no share", row->program, row->pid);
}

/* "29.8/30%" or, with a soft limit, "61.0/30-100%". */
static void cores_text(const struct top_row *row, char text[static 48])
{
        char used[16];

        if (row->is_used_known)
                percent_text(row->cores_ratio, used);
        else
                str_copy(used, sizeof used, "-");
        if (row->cores_max_percent > row->cores_percent && row->cores_percent)
                snprintf(text, 48, "%s/%u-%u%%", used, row->cores_percent, row->cores_max_percent);
        else if (top_row_cap(row))
                snprintf(text, 48, "%s/%u%%", used, top_row_cap(row));
        else
                snprintf(text, 48, row->is_used_known ? "%s%%" : "%s", used);
}

static void names_draw(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                       const struct top_row *share, enum canvas_style style)
{
        char label[SNAPSHOT_TEXT];

        top_line_label(share, layout->program, label);
        if (share->trouble)
                canvas_put(canvas, row, 0, 1, STYLE_TROUBLE, "!");
        if (layout->name > TOP_LINE_INDENT)
                canvas_put(canvas, row, TOP_LINE_INDENT, layout->name - TOP_LINE_INDENT, style,
                           label);
        if (layout->user)
                canvas_put(canvas, row, top_layout_user(layout), layout->user, style,
                           *share->user ? share->user : "-");
        if (layout->pid)
                canvas_put_right(canvas, row, top_layout_pid(layout), layout->pid, style,
                                 share->pid);
        if (layout->program)
                canvas_put(canvas, row, top_layout_program(layout), layout->program, style,
                           share->program);
}

static bool is_memory_trouble(enum top_trouble trouble)
{
        return trouble == TOP_REFUSED || trouble == TOP_AT_LIMIT || trouble == TOP_OVER_LIMIT;
}

static void row_memory(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                       const struct top_row *share, const struct top_gpu *gpu)
{
        const bool is_bound = share->limit_bytes != SHARE_UNLIMITED && share->limit_bytes;
        const double whole = is_bound ? (double)share->limit_bytes : (double)gpu->view.total_bytes;
        const double ratio =
                whole > 0 ? (double)(share->physical_bytes + share->virtual_bytes) / whole : 0;
        const bool is_trouble = is_memory_trouble(share->trouble);
        const struct bar bar = { .shares = share->is_stranger ? 0 : ratio,
                                 .others = share->is_stranger ? ratio : 0,
                                 .mark = -1,
                                 .style = is_trouble ? STYLE_TROUBLE : STYLE_SHARES };
        char text[SIZE_TEXT];

        size_text_of(share->physical_bytes + share->virtual_bytes,
                     is_bound ? share->limit_bytes : SHARE_UNLIMITED, text);
        memory_draw(canvas, row, layout, &bar, is_trouble ? STYLE_TROUBLE : STYLE_PLAIN, text);
}

void top_line_row(struct canvas *canvas, unsigned row, const struct top_layout *layout,
                  const struct top_row *share, const struct top_gpu *gpu)
{
        const bool is_trouble = share->trouble == TOP_OVER_CORES;
        const unsigned cap = top_row_cap(share);
        const struct bar bar = { .shares = share->cores_ratio,
                                 .mark = cap ? cap / 100.0 : -1,
                                 .style = is_trouble ? STYLE_TROUBLE : STYLE_SHARES };
        char text[48];

        names_draw(canvas, row, layout, share, share->is_stranger ? STYLE_DIM : STYLE_PLAIN);
        row_memory(canvas, row, layout, share, gpu);
        if (share->is_stranger)
                return;
        cores_text(share, text);
        cores_draw(canvas, row, layout, &bar, is_trouble ? STYLE_TROUBLE : STYLE_PLAIN, text);
        const char *trouble = top_trouble_texts[share->trouble];

        if (*trouble && layout->past >= cell_text_width(trouble))
                canvas_put(canvas, row, top_layout_past(layout), layout->past, STYLE_TROUBLE,
                           trouble);
        else
                history_draw(canvas, row, layout, &share->history);
}
