/* What the terminal can show. */
#pragma once

#include <stdbool.h>

/* True when the descriptor is a terminal whose user did not ask for plain text (NO_COLOR, TERM). */
bool term_is_colour(int fd);
/* Columns of the terminal, or 0 when the descriptor is none. */
unsigned term_columns(int fd);
