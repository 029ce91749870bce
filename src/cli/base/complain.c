/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences on standard error, as every command says them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cell_text.h"
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
        cell_text_print(stderr, format, arguments);
        va_end(arguments);
        return exit_code;
}

int complain_unknown_command(const char *group, const char *argument)
{
        const size_t group_length = strlen(group);
        struct nearest nearest = { 0 };
        char hint[96];

        for (size_t i = 0; i < command_count(); i++) {
                const char *name = command_at(i)->name;

                if (group_length > 0) {
                        if (strncmp(name, group, group_length) == 0 && name[group_length] == ' ')
                                nearest_offer(&nearest, argument, name + group_length + 1);
                        continue;
                }
                nearest_offer(&nearest, argument, strchr(name, ' ') ? command_group(name) : name);
        }
        nearest_text(&nearest, "", hint, sizeof hint);
        if (group_length > 0)
                return complain(EXIT_USAGE,
                                "there is no command 'vgpu %s %s'%s; see 'vgpu help %s'", group,
                                argument, hint, group);
        return complain(EXIT_USAGE, "there is no command 'vgpu %s'%s; see 'vgpu --help'", argument,
                        hint);
}
