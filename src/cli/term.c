/* What the terminal can show. */
#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool term_is_colour(int fd)
{
        const char *no_colour = getenv("NO_COLOR");
        const char *term = getenv("TERM");

        if (!isatty(fd) || (no_colour && *no_colour))
                return false;
        return term && strcmp(term, "dumb") != 0;
}

unsigned term_columns(int fd)
{
        struct winsize size;

        if (ioctl(fd, TIOCGWINSZ, &size) < 0)
                return 0;
        return size.ws_col ? size.ws_col : 80;
}
