/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu help and vgpu version: texts made from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "arg_parser.h"
#include "command.h"

const struct cli_option help_options[] = { { 0 } };

int command_version(const struct command *command, int argc, char **argv)
{
        if (command && argc > 0) {
                struct arg_parser parser;
                int option;

                arg_parser_init(&parser, command, argc, argv);
                option = arg_parser_next(&parser);
                if (option == ARG_BAD || option == ARG_HELP)
                        return arg_parser_exit(&parser, option);
                return complain(EXIT_USAGE, "'vgpu version' takes no arguments");
        }
        printf("vgpu %s\n", VGPU_VERSION);
        return EXIT_OK;
}

static void print_commands(const char *group)
{
        const size_t length = strlen(group);

        for (size_t i = 0; i < command_count(); i++) {
                const struct command *command = command_at(i);

                if (length == 0 ||
                    (strncmp(command->name, group, length) == 0 && command->name[length] == ' '))
                        printf("  %-14s %s\n", command->name, command->summary);
        }
}

void help_print(void)
{
        printf("Usage: vgpu COMMAND [OPTION]…\n\n"
               "Share a GPU, or run GPU programs on a simulated one.\n\n"
               "Commands:\n");
        print_commands("");
        printf("\nOptions:\n"
               "  --help         print this text\n"
               "  --version      print the version\n\n"
               "'vgpu help COMMAND' explains a command. Try:\n"
               "  vgpu run --sim=a100-40gb:2 --cores 30 -- vgpu-burn 5\n");
}

void help_print_group(const char *group)
{
        printf("Usage: vgpu %s COMMAND [OPTION]…\n\nCommands:\n", group);
        print_commands(group);
        printf("\n'vgpu help %s COMMAND' explains a command.\n", group);
}

void help_print_command(const struct command *command)
{
        printf("Usage: vgpu %s %s\n\n", command->name, command->usage);
        printf("vgpu %s: %s.\n", command->name, command->summary);
        if (command->details)
                printf("\n%s", command->details);
        printf("\nOptions:\n");
        cli_option_print(command->options);
        printf("  %-26s %s\n", "--help", "print this text");
}

int command_help(const struct command *command, int argc, char **argv)
{
        const struct command *subject;
        int words = 0;

        (void)command;
        if (argc == 0) {
                help_print();
                return EXIT_OK;
        }
        if (strcmp(argv[0], "--help") == 0)
                argv[0] = (char *)"help";
        subject = command_find(argc, argv, &words);
        if (subject && words == argc) {
                help_print_command(subject);
                return EXIT_OK;
        }
        if (!command_is_group(argv[0]))
                return complain_unknown_command("", argv[subject ? words : 0]);
        if (argc > 1)
                return complain_unknown_command(argv[0], argv[subject ? words : 1]);
        help_print_group(argv[0]);
        return EXIT_OK;
}
