/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, then columns. */
#include "figure_sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct figure_row *figure_sheet_add(struct figure_sheet *sheet, const struct figure_row *like)
{
        struct figure_row *row = calloc(1, sizeof *row + sheet->column_count * sizeof *row->values);

        if (!row)
                return NULL;
        for (unsigned i = 0; like && i < like->label_count; i++)
                figure_row_label(row, like->labels[i].name, like->labels[i].value);
        for (unsigned i = 0; i < sheet->column_count; i++)
                row->values[i] = NAN;
        if (sheet->last)
                sheet->last->next = row;
        else
                sheet->first = row;
        sheet->last = row;
        return row;
}

void figure_sheet_done(struct figure_sheet *sheet)
{
        for (struct figure_row *row = sheet->first, *next; row; row = next) {
                next = row->next;
                free(row);
        }
        sheet->first = sheet->last = NULL;
}

void figure_row_label(struct figure_row *row, const char *name, const char *value)
{
        if (row->label_count < FIGURE_LABELS)
                row->labels[row->label_count++] = (struct metric_label){ name, value };
}

void figure_row_copy(struct figure_row *row, const char *name, const char *value)
{
        char *text = row->texts[row->text_count];

        if (row->text_count == FIGURE_TEXTS)
                return;
        row->text_count++;
        str_copy(text, sizeof row->texts[0], value);
        figure_row_label(row, name, text);
}

void figure_row_number(struct figure_row *row, const char *name, uint64_t value)
{
        char text[24];

        snprintf(text, sizeof text, "%" PRIu64, value);
        figure_row_copy(row, name, text);
}

static int column_print(const struct figure_sheet *sheet, unsigned column, struct str *out)
{
        const struct figure *figure = &sheet->columns[column];
        bool has_head = false;
        int r = 0;

        for (const struct figure_row *row = sheet->first; row && r == 0; row = row->next) {
                if (isnan(row->values[column]))
                        continue;
                if (!has_head)
                        r = metric_head(out, figure->name, figure->type, figure->help);
                has_head = true;
                if (r == 0)
                        r = metric_sample(out, figure->name, row->labels, row->values[column]);
        }
        return r;
}

int figure_sheet_print(const struct figure_sheet *sheet, struct str *out)
{
        int r = 0;

        for (unsigned i = 0; i < sheet->column_count && r == 0; i++)
                r = column_print(sheet, i, out);
        return r;
}
