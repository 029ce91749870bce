/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of `vgpu top`, by ncurses: drawn, resized, stopped, continued, and left as it was found. */
#pragma once

#include "top_page.h"

/* False: the terminal cannot be drawn on. Ends of the program by signals are waited for from here on. */
bool top_view_open(void);
void top_view_close(void);
void top_view_draw(const struct top *top, struct top_screen *screen);

/* Waits for a key until the time is over. */
enum { TOP_KEY_NONE = -1, TOP_KEY_END = -2 }; /* end: a signal, or the terminal is gone */
int top_view_key(unsigned wait_ms);

/* The same without a screen: true, the time is over; false: it is time to end. */
void top_wait_open(void);
bool top_wait(unsigned wait_ms);

/* What the key changes; false: it was the last. */
bool top_keys_press(struct top_screen *screen, int key);
