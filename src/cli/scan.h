/* Reads a command's arguments by its option rows; says what is wrong, prints help. */
#pragma once

#include "cli_option.h"
#include "command.h"

enum {
        SCAN_END = CLI_END,
        SCAN_WORD = CLI_WORD, /* a word that is no option: in `value` */
        SCAN_BAD = CLI_BAD,   /* the sentence was said; exit with scan_exit() */
        SCAN_HELP = CLI_HELP, /* --help: it was printed */
};

struct scan {
        const struct command *command;
        char program[40]; /* "vgpu sim create" */
        struct cli_scan words;
        const char *value;
};

void scan_init(struct scan *scan, const struct command *command, int argc, char **argv);

/* The index of the next option's row, or SCAN_… . Both "--name value" and "--name=value". */
int scan_next(struct scan *scan);

/* Of a command whose only option is --json. True: it goes on; false: it exits with this code. */
bool scan_json(const struct command *command, int argc, char **argv, bool *ret_is_json,
               int *ret_exit);

/* Exit code of a command whose scan ended with SCAN_BAD or SCAN_HELP. */
int scan_exit(const struct scan *scan, int result);
