/* Rows of text on stdout: aligned columns on a terminal, tab-separated elsewhere. */
#include "table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "term.h"

void table_init(struct table *table, const char *const *titles, size_t column_count)
{
        *table = (struct table){ .titles = titles, .column_count = column_count };
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

/* Columns that a terminal shows for UTF-8 text of ours: one per character. */
static size_t text_width(const char *text)
{
        size_t width = 0;

        for (; *text; text++)
                width += ((unsigned char)*text & 0xc0) != 0x80;
        return width;
}

static const char *table_cell(const struct table *table, size_t row, size_t column)
{
        const size_t index = row * table->column_count + column;

        if (index >= table->cell_count || !table->cells[index])
                return "";
        return table->cells[index];
}

static void print_row(const struct table *table, const size_t widths[], size_t row, bool is_title)
{
        for (size_t column = 0; column < table->column_count; column++) {
                const char *text =
                        is_title ? table->titles[column] : table_cell(table, row, column);
                const bool is_last = column + 1 == table->column_count;

                fputs(text, stdout);
                if (!is_last && widths)
                        printf("%*s", (int)(widths[column] - text_width(text) + 2), "");
                else if (!is_last)
                        putchar('\t');
        }
}

void table_print(struct table *table)
{
        const size_t rows = (table->cell_count + table->column_count - 1) / table->column_count;
        const bool is_terminal = isatty(STDOUT_FILENO), is_colour = term_is_colour(STDOUT_FILENO);
        size_t widths[TABLE_COLUMNS] = { 0 };

        for (size_t column = 0; column < table->column_count; column++) {
                widths[column] = text_width(table->titles[column]);
                for (size_t row = 0; row < rows; row++) {
                        const size_t width = text_width(table_cell(table, row, column));

                        if (width > widths[column])
                                widths[column] = width;
                }
        }
        fputs(is_colour ? "\033[1m" : "", stdout);
        print_row(table, is_terminal ? widths : NULL, 0, true);
        fputs(is_colour ? "\033[0m\n" : "\n", stdout);
        for (size_t row = 0; row < rows; row++) {
                print_row(table, is_terminal ? widths : NULL, row, false);
                putchar('\n');
        }
        for (size_t i = 0; i < table->cell_count; i++)
                free(table->cells[i]);
        free(table->cells);
        table_init(table, table->titles, table->column_count);
}
