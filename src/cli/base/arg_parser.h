/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a command's arguments by its option rows; says what is wrong, prints help. */
#pragma once

#include "cli_option.h"
#include "command.h"

enum {
        ARG_END = CLI_END,
        ARG_PLAIN = CLI_PLAIN, /* an argument that is no option: in `value` */
        ARG_BAD = CLI_BAD,     /* the sentence was said; exit with arg_parser_exit() */
        ARG_HELP = CLI_HELP,   /* --help: it was printed */
};

struct arg_parser {
        const struct command *command;
        char program[40]; /* "vgpu sim create" */
        struct cli_scan scan;
        const char *value;
};

void arg_parser_init(struct arg_parser *parser, const struct command *command, int argc,
                     char **argv);

/* The index of the next option's row, or ARG_… . Both "--name value" and "--name=value". */
int arg_parser_next(struct arg_parser *parser);

/* Takes all of a command's arguments: take() gets an option's row or ARG_PLAIN, and the value; it returns 0, or the
 * exit code after a sentence. True: the command goes on; false: it exits with this code. */
bool arg_parser_each(const struct command *command, int argc, char **argv,
                     int (*take)(void *owner, int option, const char *value), void *owner,
                     int *ret_exit);

/* The sentence for an argument too many; returns EXIT_USAGE. */
int complain_unexpected(const char *argument);

/* Of a command whose only option is --json. True: it goes on; false: it exits with this code. */
bool arg_parser_json(const struct command *command, int argc, char **argv, bool *ret_is_json,
                     int *ret_exit);

/* Exit code of a command whose arguments ended with ARG_BAD or ARG_HELP. */
int arg_parser_exit(const struct arg_parser *parser, int result);
