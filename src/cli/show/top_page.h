/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `vgpu top`, drawn into a canvas. Pure: what it shows is what it is given. */
#pragma once

#include "canvas.h"
#include "top_rows.h"

enum { TOP_FILTER = 64 };

struct top_screen {
        enum top_sort sort;
        char filter[TOP_FILTER];
        bool is_typing; /* keys go to the filter */
        bool is_help, is_paused;
        bool has_users;       /* rows may be of several users */
        unsigned scroll;      /* lines above the first one shown */
        unsigned kept_scroll; /* of the rows, while help is shown */
        unsigned page;        /* lines of the body that the last drawing had space for */
        unsigned interval_ms;
};

/* Scrolling beyond the end is taken back. */
void top_page_draw(struct canvas *canvas, const struct top *top, struct top_screen *screen);
