/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu: the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell_text.h"
#include "command.h"
#include "nearest.h"

static int main_option(const char *argument)
{
        struct nearest nearest = { 0 };
        char hint[96];

        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
                help_print();
                return EXIT_OK;
        }
        if (strcmp(argument, "--version") == 0 || strcmp(argument, "-V") == 0)
                return command_version(NULL, 0, NULL);
        nearest_offer(&nearest, argument, "--help");
        nearest_offer(&nearest, argument, "--version");
        return complain(EXIT_USAGE, "there is no option '%s'%s; see 'vgpu --help'", argument,
                        nearest_text(&nearest, "", hint, sizeof hint));
}

static int main_group(int argc, char **argv)
{
        if (argc < 3) {
                complain(0, "missing COMMAND; 'vgpu %s' has these:", argv[1]);
                fflush(stderr);
                dup2(STDERR_FILENO, STDOUT_FILENO);
                help_print_group(argv[1]);
                return EXIT_USAGE;
        }
        if (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0) {
                help_print_group(argv[1]);
                return EXIT_OK;
        }
        return complain_unknown_command(argv[1], argv[2]);
}

/* A full disk or a closed pipe behind stdout must not look like success. */
static int main_flush(int code)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return code;
        return complain(code ? code : EXIT_FAILED, "cannot write the output");
}

int main(int argc, char **argv)
{
        const struct command *command;
        int arguments = 0;

        if (argc < 2) {
                fflush(stdout);
                dup2(STDERR_FILENO, STDOUT_FILENO);
                help_print();
                return EXIT_USAGE;
        }
        if (argv[1][0] == '-')
                return main_flush(main_option(argv[1]));
        command = command_find(argc - 1, argv + 1, &arguments);
        if (command)
                return main_flush(
                        command->run(command, argc - 1 - arguments, argv + 1 + arguments));
        if (command_is_group(argv[1]))
                return main_flush(main_group(argc, argv));
        return complain_unknown_command("", argv[1]);
}
