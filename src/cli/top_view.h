/* The screen of `vgpu top`. */
#pragma once

#include "top_rows.h"

enum { TOP_FILTER = 64 };

struct top_screen {
        enum top_sort sort;
        char filter[TOP_FILTER];
        bool is_typing; /* keys go to the filter */
        bool is_help, is_paused;
        unsigned scroll; /* lines above the first one shown */
        unsigned interval_ms;
};

void top_view_open(void);
void top_view_close(void);
void top_view_draw(const struct top *top, const struct top_screen *screen);

/* Waits for a key until the time is over; −1: none. */
int top_view_key(unsigned wait_ms);
/* What the key changes; false: it was the last. */
bool top_view_press(struct top_screen *screen, int key);
