/* vgpu: the command line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "nearest.h"
#include "term.h"

int complain(int exit_code, const char *format, ...)
{
        const char *bold = term_is_colour(STDERR_FILENO) ? "\033[1;31m" : "";
        const char *plain = *bold ? "\033[0m" : "";
        va_list arguments;

        fflush(stdout);
        fprintf(stderr, "%svgpu:%s ", bold, plain);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        return exit_code;
}

int complain_unknown_command(const char *group, const char *word)
{
        const size_t group_length = strlen(group);
        struct nearest nearest = { 0 };
        char hint[96];

        for (size_t i = 0; i < command_count(); i++) {
                const char *name = command_at(i)->name;

                if (group_length > 0) {
                        if (strncmp(name, group, group_length) == 0 && name[group_length] == ' ')
                                nearest_offer(&nearest, word, name + group_length + 1);
                        continue;
                }
                nearest_offer(&nearest, word, strchr(name, ' ') ? command_group(name) : name);
        }
        nearest_text(&nearest, "", hint, sizeof hint);
        if (group_length > 0)
                return complain(EXIT_USAGE,
                                "there is no command 'vgpu %s %s'%s; see 'vgpu help %s'", group,
                                word, hint, group);
        return complain(EXIT_USAGE, "there is no command 'vgpu %s'%s; see 'vgpu --help'", word,
                        hint);
}

static int main_option(const char *word)
{
        struct nearest nearest = { 0 };
        char hint[96];

        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
                help_print();
                return EXIT_OK;
        }
        if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
                return command_version(NULL, 0, NULL);
        nearest_offer(&nearest, word, "--help");
        nearest_offer(&nearest, word, "--version");
        return complain(EXIT_USAGE, "there is no option '%s'%s; see 'vgpu --help'", word,
                        nearest_text(&nearest, "", hint, sizeof hint));
}

static int main_group(int argc, char **argv)
{
        if (argc < 3) {
                complain(0, "which command? 'vgpu %s' has these:", argv[1]);
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
        int words = 0;

        if (argc < 2) {
                fflush(stdout);
                dup2(STDERR_FILENO, STDOUT_FILENO);
                help_print();
                return EXIT_USAGE;
        }
        if (argv[1][0] == '-')
                return main_flush(main_option(argv[1]));
        command = command_find(argc - 1, argv + 1, &words);
        if (command)
                return main_flush(command->run(command, argc - 1 - words, argv + 1 + words));
        if (command_is_group(argv[1]))
                return main_flush(main_group(argc, argv));
        return complain_unknown_command("", argv[1]);
}
