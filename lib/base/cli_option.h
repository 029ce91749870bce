/* SPDX-License-Identifier: Apache-2.0 */
/* Options on a command line, as rows: parsing, help and completion read the same ones. */
#pragma once

#include <stdbool.h>

#include "err.h"

struct cli_option {
        const char *name;     /* without the dashes; NULL ends the list */
        const char *argument; /* what follows it, "SIZE"; NULL: nothing */
        const char *summary;
        /* What completion offers for the argument: "preset", "file", "share", "column", or words. NULL:
         * nothing. */
        const char *completion;
};

enum {
        CLI_END = -1,
        CLI_PLAIN = -2, /* an argument that is no option: in `value` */
        CLI_BAD = -3,   /* the sentence is in the caller's err */
        CLI_HELP = -4,  /* -h or --help */
};

struct cli_scan {
        const char *program; /* "vgpu run": for sentences */
        const struct cli_option *rows;
        int argc;
        char **argv;
        int index;
        const char *value;
        bool is_after_dashes; /* "--" was seen: no options follow */
};

/* The index of the next option's row, or CLI_… . Both "--name value" and "--name=value". */
int cli_scan_next(struct cli_scan *scan, struct err *e);

/* One line per row, on stdout. */
void cli_option_print(const struct cli_option *rows);
