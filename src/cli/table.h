/* Rows of text on stdout: aligned columns on a terminal, tab-separated elsewhere. */
#pragma once

#include <stddef.h>

enum { TABLE_COLUMNS = 12 };

struct table {
        const char *const *titles;
        size_t column_count;
        char **cells; /* row after row; the table owns them */
        size_t cell_count, cell_capacity;
};

/* `titles` must live as long as the table. */
void table_init(struct table *table, const char *const *titles, size_t column_count);
/* Adds one cell; a row is full after column_count of them. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints and empties it. */
void table_print(struct table *table);
