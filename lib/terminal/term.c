/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal can show. */
#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static enum term_colour term_colour;

bool term_colour_choose(const char *text)
{
        static const char *const names[] = { [TERM_COLOUR_AUTO] = "auto",
                                             [TERM_COLOUR_ALWAYS] = "always",
                                             [TERM_COLOUR_NEVER] = "never" };

        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
                if (strcmp(text, names[i]) == 0) {
                        term_colour = i;
                        return true;
                }
        }
        return false;
}

bool term_is_screen(int fd)
{
        const char *term = getenv("TERM");

        return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool term_is_colour(int fd)
{
        const char *no_colour = getenv("NO_COLOR");

        if (term_colour != TERM_COLOUR_AUTO)
                return term_colour == TERM_COLOUR_ALWAYS;
        return term_is_screen(fd) && !(no_colour && *no_colour);
}

unsigned term_columns(int fd)
{
        struct winsize size;

        if (ioctl(fd, TIOCGWINSZ, &size) < 0)
                return 0;
        return size.ws_col ? size.ws_col : 80;
}
