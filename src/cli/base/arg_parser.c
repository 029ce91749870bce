/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a command's arguments by its option rows. */
#include "arg_parser.h"

#include <stdio.h>

void arg_parser_init(struct arg_parser *parser, const struct command *command, int argc,
                     char **argv)
{
        *parser = (struct arg_parser){
                .command = command,
                .scan = { .rows = command->options, .argc = argc, .argv = argv },
        };
        snprintf(parser->program, sizeof parser->program, "vgpu %s", command->name);
}

int arg_parser_exit(const struct arg_parser *parser, int result)
{
        if (result == ARG_HELP)
                return EXIT_OK;
        return parser->command->usage_exit ? parser->command->usage_exit : EXIT_USAGE;
}

int arg_parser_next(struct arg_parser *parser)
{
        struct err e = { 0 };

        parser->scan.program = parser->program;
        const int option = cli_scan_next(&parser->scan, &e);

        if (option == ARG_BAD)
                complain(0, "%s", e.text);
        if (option == ARG_HELP)
                help_print_command(parser->command);
        parser->value = parser->scan.value;
        return option;
}

bool arg_parser_each(const struct command *command, int argc, char **argv,
                     int (*take)(void *owner, int option, const char *value), void *owner,
                     int *ret_exit)
{
        struct arg_parser parser;
        int option;

        arg_parser_init(&parser, command, argc, argv);
        while ((option = arg_parser_next(&parser)) != ARG_END) {
                *ret_exit = arg_parser_exit(&parser, option);
                if (option == ARG_BAD || option == ARG_HELP)
                        return false;
                *ret_exit = take(owner, option, parser.value);
                if (*ret_exit)
                        return false;
        }
        return true;
}

int complain_unexpected(const char *argument)
{
        return complain(EXIT_USAGE, "unexpected argument '%s'", argument);
}

static int json_take(void *owner, int option, const char *value)
{
        if (option == ARG_PLAIN)
                return complain_unexpected(value);
        *(bool *)owner = true;
        return 0;
}

bool arg_parser_json(const struct command *command, int argc, char **argv, bool *ret_is_json,
                     int *ret_exit)
{
        return arg_parser_each(command, argc, argv, json_take, ret_is_json, ret_exit);
}
