/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a screen. */
#include "canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cell_text.h"

enum { LINE_BYTES = 4096 };

int canvas_init(struct canvas *canvas, unsigned rows, unsigned columns)
{
        *canvas = (struct canvas){ .rows = rows, .columns = columns };
        canvas->cells = calloc((size_t)rows * columns + 1, sizeof *canvas->cells);
        if (!canvas->cells)
                return -ENOMEM;
        for (size_t i = 0; i < (size_t)rows * columns; i++)
                canvas->cells[i].text[0] = ' ';
        return 0;
}

void canvas_done(struct canvas *canvas)
{
        free(canvas->cells);
        *canvas = (struct canvas){ 0 };
}

const struct canvas_cell *canvas_at(const struct canvas *canvas, unsigned row, unsigned column)
{
        return &canvas->cells[(size_t)row * canvas->columns + column];
}

/* One character into its cell; a wide one takes the next as well. */
static unsigned character_put(struct canvas_cell *cell, const char *text, unsigned bytes,
                              enum canvas_style style)
{
        char one[5] = "";

        memcpy(one, text, bytes);
        const unsigned width = cell_text_width(one);

        for (unsigned i = 0; i < width; i++)
                cell[i] = (struct canvas_cell){ .style = (unsigned char)style };
        memcpy(cell->text, one, sizeof cell->text);
        return width;
}

void canvas_put(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                enum canvas_style style, const char *text)
{
        char shown[LINE_BYTES];

        if (row >= canvas->rows || column >= canvas->columns)
                return;
        if (width > canvas->columns - column)
                width = canvas->columns - column;
        cell_text_fit(text, width, shown, sizeof shown);
        struct canvas_cell *cell = &canvas->cells[(size_t)row * canvas->columns + column];
        unsigned used = 0;

        for (const char *at = shown; *at;) {
                const unsigned bytes = cell_text_bytes(at);

                used += character_put(cell + used, at, bytes, style);
                at += bytes;
        }
        for (; used < width; used++)
                cell[used] = (struct canvas_cell){ .text = " ", .style = (unsigned char)style };
}

void canvas_put_right(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                      enum canvas_style style, const char *text)
{
        const unsigned cells = cell_text_width(text);
        const unsigned skipped = cells < width ? width - cells : 0;

        canvas_put(canvas, row, column + skipped, width - skipped, style, text);
}
