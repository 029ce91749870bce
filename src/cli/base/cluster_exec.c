/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that ask the API server are run by vgpu-cluster: TLS and HTTP/2 would double the time that
 * `vgpu run` takes to start, and triple the libraries it needs. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arg_parser.h"
#include "command.h"
#include "scope.h"

#define PROGRAM "vgpu-cluster"

/* Options are rows here and there: what is wrong with them, and help, is said before. */
static int options_check(const struct command *command, int argc, char **argv)
{
        struct arg_parser parser;
        int option;

        arg_parser_init(&parser, command, argc, argv);
        while ((option = arg_parser_next(&parser)) != ARG_END)
                if (option == ARG_BAD || option == ARG_HELP)
                        return arg_parser_exit(&parser, option);
        return -1;
}

/* Beside this program, as in the build; else where it is installed. */
static bool program_find(char path[static PATH_MAX])
{
        const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
        char *slash;

        if (length > 0) {
                path[length] = '\0';
                slash = strrchr(path, '/');
                if (slash && (size_t)(slash - path) + sizeof PROGRAM + 1 < PATH_MAX) {
                        memcpy(slash + 1, PROGRAM, sizeof PROGRAM);
                        if (access(path, X_OK) == 0)
                                return true;
                }
        }
        snprintf(path, PATH_MAX, "%s/" PROGRAM, VGPU_LIBEXECDIR);
        return access(path, X_OK) == 0;
}

int command_cluster(const struct command *command, int argc, char **argv)
{
        const int code = options_check(command, argc, argv);
        char path[PATH_MAX];

        if (code >= 0)
                return code;
        if (!program_find(path))
                return complain(EXIT_FAILED,
                                "'vgpu %s' needs " PROGRAM ", which is not installed; this vgpu "
                                "was built without the cluster commands",
                                command->name);
        autofree char **arguments = calloc((size_t)argc + 3, sizeof *arguments);

        if (!arguments)
                return complain(EXIT_FAILED, "out of memory");
        arguments[0] = (char *)PROGRAM;
        arguments[1] = (char *)command->name;
        if (argc > 0)
                memcpy(arguments + 2, argv, (size_t)argc * sizeof *arguments);
        fflush(stdout);
        execv(path, arguments);
        return complain(EXIT_FAILED, "cannot run '%s': %s", path, strerror(errno));
}
