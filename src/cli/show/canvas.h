/* SPDX-License-Identifier: Apache-2.0 */
/* canvas: a screen of character cells in memory. What is put beyond its edges is cut; whatever the text,
 * every cell holds one harmless character. */
#pragma once

#include <stdbool.h>

enum canvas_style {
        STYLE_PLAIN,
        STYLE_DIM,
        STYLE_BOLD,
        STYLE_BANNER,  /* the line at the top */
        STYLE_SHARES,  /* what shares use */
        STYLE_OTHERS,  /* what others use */
        STYLE_TROUBLE, /* needs an operator */
        STYLES,
};

struct canvas_cell {
        char text[5]; /* UTF-8; "": the right half of the wide character before */
        unsigned char style;
};

struct canvas {
        unsigned rows, columns;
        struct canvas_cell *cells; /* row after row */
};

/* 0 or -ENOMEM. All blank. */
int canvas_init(struct canvas *canvas, unsigned rows, unsigned columns);
void canvas_done(struct canvas *canvas);

/* Puts the text there, cut to `width` cells; those that are left are blank. */
void canvas_put(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                enum canvas_style style, const char *text);
/* The same, at the right end of its width. */
void canvas_put_right(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                      enum canvas_style style, const char *text);
const struct canvas_cell *canvas_at(const struct canvas *canvas, unsigned row, unsigned column);
