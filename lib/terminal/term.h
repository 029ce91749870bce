/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal can show. */
#pragma once

#include <stdbool.h>

/* --color: by terminal, NO_COLOR and TERM, or as it says. */
enum term_colour { TERM_COLOUR_AUTO, TERM_COLOUR_ALWAYS, TERM_COLOUR_NEVER };
#define TERM_COLOUR_OPTION                                                          \
        {                                                                           \
                "color", "WHEN", "auto, always or never; default: auto (NO_COLOR)", \
                        "auto always never"                                         \
        }
/* False: it is none of the three. From then on term_is_colour() goes by it. */
bool term_colour_choose(const char *text);

/* True when the descriptor is a terminal whose user did not ask for plain text (NO_COLOR, TERM). */
bool term_is_colour(int fd);
/* True when lines can be drawn anywhere on it: a terminal whose TERM is neither unset nor "dumb". */
bool term_is_screen(int fd);
/* Columns of the terminal, or 0 when the descriptor is none. */
unsigned term_columns(int fd);
