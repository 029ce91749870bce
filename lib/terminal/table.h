/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of text on stdout: aligned columns on a terminal, cut and chosen so that lines do not run over;
 * tab-separated and whole elsewhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_COLUMNS = 20 };

struct table_column {
        const char *title;
        bool is_right;  /* numbers: aligned at their end */
        unsigned least; /* may be cut to so many cells; 0: never cut */
        unsigned rank;  /* where even that is too wide, the highest goes first; 0: it stays */
};

struct table {
        struct table_column columns[TABLE_COLUMNS];
        size_t column_count;
        char **cells; /* row after row; the table owns them */
        size_t cell_count, cell_capacity;
};

/* Columns that are all shown and never cut. `titles` must live as long as the table. */
void table_init(struct table *table, const char *const *titles, size_t column_count);
void table_init_columns(struct table *table, const struct table_column *columns,
                        size_t column_count);
/* Adds one cell; a row is full after column_count of them. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints and empties it. */
void table_print(struct table *table);
