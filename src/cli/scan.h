/* Reads a command's arguments by its option rows. */
#pragma once

#include <stdbool.h>

#include "command.h"

enum {
        SCAN_END = -1,
        SCAN_WORD = -2, /* a word that is no option: in `value` */
        SCAN_BAD = -3,  /* the sentence was said; exit with scan_exit() */
        SCAN_HELP = -4, /* --help: it was printed */
};

struct scan {
        const struct command *command;
        int argc;
        char **argv;
        int index;
        const char *value;
        bool is_after_dashes; /* "--" was seen: everything else is a word */
};

void scan_init(struct scan *scan, const struct command *command, int argc, char **argv);

/* The index of the next option's row, or SCAN_… . Both "--name value" and "--name=value". */
int scan_next(struct scan *scan);

/* Exit code of a command whose scan ended with SCAN_BAD or SCAN_HELP. */
int scan_exit(const struct scan *scan, int result);
