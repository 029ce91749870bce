/* SPDX-License-Identifier: Apache-2.0 */
/* figure_sheet: a table of figures, each row with its labels, as text for Prometheus. Pure.
 *
 * A column is one name; all its samples stand together in the text, so that rows are collected first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "metric_text.h"

enum { FIGURE_LABELS = 9, FIGURE_TEXTS = 3 };

struct figure {
        const char *name, *help;
        enum metric_type type;
};

struct figure_row {
        struct metric_label labels[FIGURE_LABELS + 1];
        unsigned label_count, text_count;
        char texts[FIGURE_TEXTS][48]; /* of labels whose texts are its own */
        struct figure_row *next;
        double values[]; /* by column; NaN: there is none */
};

struct figure_sheet {
        const struct figure *columns;
        unsigned column_count;
        struct figure_row *first, *last;
};

/* A row with these labels and no values; NULL: out of memory. Labels of `like` come first; NULL: none. */
struct figure_row *figure_sheet_add(struct figure_sheet *sheet, const struct figure_row *like);
void figure_sheet_done(struct figure_sheet *sheet);

/* Texts stay the caller's until the sheet is done. */
void figure_row_label(struct figure_row *row, const char *name, const char *value);
void figure_row_copy(struct figure_row *row, const char *name, const char *value);
void figure_row_number(struct figure_row *row, const char *name, uint64_t value);

/* Columns without a value are left out, their head included. 0 or -ENOMEM. */
int figure_sheet_print(const struct figure_sheet *sheet, struct str *out);
