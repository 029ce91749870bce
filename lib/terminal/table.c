/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of text on stdout: widths, and what gives way where the terminal is narrow. */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell_text.h"
#include "term.h"

enum { GAP = 2, CELL_BYTES = 1024 };

void table_init(struct table *table, const char *const *titles, size_t column_count)
{
        *table = (struct table){ .column_count = column_count };
        for (size_t i = 0; i < column_count && i < TABLE_COLUMNS; i++)
                table->columns[i].title = titles[i];
}

void table_init_columns(struct table *table, const struct table_column *columns,
                        size_t column_count)
{
        *table = (struct table){ .column_count = column_count };
        memcpy(table->columns, columns, column_count * sizeof *columns);
}

void table_add(struct table *table, const char *format, ...)
{
        va_list arguments;
        char *cell = NULL;

        if (table->cell_count == table->cell_capacity) {
                const size_t capacity = table->cell_capacity * 2 + 64;
                char **cells = reallocarray(table->cells, capacity, sizeof *cells);

                if (!cells)
                        return;
                table->cells = cells;
                table->cell_capacity = capacity;
        }
        va_start(arguments, format);
        if (vasprintf(&cell, format, arguments) < 0)
                cell = NULL;
        va_end(arguments);
        table->cells[table->cell_count++] = cell;
}

static const char *table_cell(const struct table *table, size_t row, size_t column)
{
        const size_t index = row * table->column_count + column;

        if (index >= table->cell_count || !table->cells[index])
                return "";
        return table->cells[index];
}

static size_t table_rows(const struct table *table)
{
        return (table->cell_count + table->column_count - 1) / table->column_count;
}

static void widths_measure(const struct table *table, unsigned widths[TABLE_COLUMNS])
{
        const size_t rows = table_rows(table);

        for (size_t column = 0; column < table->column_count; column++) {
                widths[column] = cell_text_width(table->columns[column].title);
                for (size_t row = 0; row < rows; row++) {
                        const unsigned width = cell_text_width(table_cell(table, row, column));

                        if (width > widths[column])
                                widths[column] = width;
                }
        }
}

/* Of those that are not dropped: 0 cells wide. */
static unsigned widths_sum(const struct table *table, const unsigned widths[TABLE_COLUMNS])
{
        unsigned sum = 0;

        for (size_t i = 0; i < table->column_count; i++)
                sum += widths[i] ? widths[i] + (sum ? GAP : 0) : 0;
        return sum;
}

/* Cuts the widest of those that may be cut, cell by cell. */
static bool widths_cut(const struct table *table, unsigned widths[TABLE_COLUMNS], unsigned columns)
{
        while (widths_sum(table, widths) > columns) {
                size_t widest = table->column_count;

                for (size_t i = 0; i < table->column_count; i++)
                        if (table->columns[i].least && widths[i] > table->columns[i].least &&
                            (widest == table->column_count || widths[i] > widths[widest]))
                                widest = i;
                if (widest == table->column_count)
                        return false;
                widths[widest]--;
        }
        return true;
}

static bool column_drop(struct table *table, unsigned widths[TABLE_COLUMNS])
{
        size_t last = table->column_count;

        for (size_t i = 0; i < table->column_count; i++)
                if (widths[i] && table->columns[i].rank &&
                    (last == table->column_count ||
                     table->columns[i].rank > table->columns[last].rank))
                        last = i;
        if (last == table->column_count)
                return false;
        widths[last] = 0;
        return true;
}

static void widths_fit(struct table *table, unsigned columns, unsigned widths[TABLE_COLUMNS])
{
        unsigned natural[TABLE_COLUMNS];

        widths_measure(table, natural);
        for (;;) {
                memcpy(widths, natural, sizeof natural);
                if (columns == 0 || widths_cut(table, widths, columns) ||
                    !column_drop(table, natural))
                        return;
        }
}

static void cell_print(const char *text, unsigned width, bool is_right, bool is_last)
{
        char shown[CELL_BYTES];
        const unsigned cells = cell_text_fit(text, width, shown, sizeof shown);

        printf("%*s%s", is_right ? (int)(width - cells) : 0, "", shown);
        if (!is_last)
                printf("%*s", (is_right ? 0 : (int)(width - cells)) + GAP, "");
}

static void row_print(const struct table *table, const unsigned widths[], size_t row, bool is_title)
{
        size_t last = 0;

        for (size_t i = 0; i < table->column_count; i++)
                last = widths[i] ? i : last;
        for (size_t i = 0; i <= last; i++)
                if (widths[i])
                        cell_print(is_title ? table->columns[i].title : table_cell(table, row, i),
                                   widths[i], table->columns[i].is_right, i == last);
}

static void row_print_plain(const struct table *table, size_t row, bool is_title)
{
        char shown[CELL_BYTES];

        for (size_t i = 0; i < table->column_count; i++) {
                cell_text_clean(is_title ? table->columns[i].title : table_cell(table, row, i),
                                shown, sizeof shown);
                printf("%s%s", i ? "\t" : "", shown);
        }
}

void table_print(struct table *table)
{
        const size_t rows = table_rows(table);
        const bool is_terminal = isatty(STDOUT_FILENO), is_colour = term_is_colour(STDOUT_FILENO);
        unsigned widths[TABLE_COLUMNS] = { 0 };

        if (is_terminal)
                widths_fit(table, term_columns(STDOUT_FILENO), widths);
        for (size_t row = 0; row <= rows; row++) {
                fputs(row == 0 && is_colour ? "\033[1m" : "", stdout);
                if (is_terminal)
                        row_print(table, widths, row - 1, row == 0);
                else
                        row_print_plain(table, row - 1, row == 0);
                fputs(row == 0 && is_colour ? "\033[0m\n" : "\n", stdout);
        }
        for (size_t i = 0; i < table->cell_count; i++)
                free(table->cells[i]);
        free(table->cells);
        table->cells = NULL;
        table->cell_count = table->cell_capacity = 0;
}
