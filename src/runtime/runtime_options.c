/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_options: the file is read as a command line, each line one word of it. */
#include "runtime_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "container_paths.h"
#include "file.h"
#include "quantity.h"

enum { ARGUMENTS_MOST = 64, WAIT_MOST_S = 600 };

enum { RUNTIME, SOCKET, WAIT, STATE, LIBRARY, SIM, SIM_DRIVER };

const struct cli_option runtime_options_rows[] = {
        [RUNTIME] = { "runtime", "PATH", "the OCI runtime behind this one (runc, else crun)",
                      "file" },
        [SOCKET] = { "socket", "PATH", "of vgpu-node (" NODE_SOCKET_PATH ")", "file" },
        [WAIT] = { "wait", "SECONDS", "how long a GPU container waits for vgpu-node (10)", NULL },
        [STATE] = { "state", "FOLDER", "for what containers are given (/run/vgpu/runtime)",
                    "file" },
        [LIBRARY] = { "library", "PATH", "libvgpu.so (the one installed with this program)",
                      "file" },
        [SIM] = { "sim", "MACHINE", "outside Kubernetes: GPUs of this simulated machine", "file" },
        [SIM_DRIVER] = { "sim-driver", "FOLDER",
                         "the simulated driver, for --sim (the one installed with this program)",
                         "file" },
        { 0 },
};

const char *runtime_options_path(void)
{
        const char *path = getenv("VGPU_RUNTIME_CONF");

        return path && *path ? path : RUNTIME_OPTIONS_PATH;
}

static int wait_read(const char *text, unsigned *ret_ms, struct err *e)
{
        double seconds;
        const int r = quantity_parse_number(text, "--wait", 0, WAIT_MOST_S, &seconds, e);

        if (r == 0)
                *ret_ms = (unsigned)(seconds * 1000);
        return r;
}

static int option_take(struct runtime_options *options, int row, const char *value, struct err *e)
{
        const char **const texts[] = {
                [RUNTIME] = &options->runtime, [SOCKET] = &options->socket,
                [STATE] = &options->state,     [LIBRARY] = &options->library,
                [SIM] = &options->machine,     [SIM_DRIVER] = &options->driver,
        };

        if (row == WAIT)
                return wait_read(value, &options->wait_ms, e);
        *texts[row] = value;
        return 0;
}

/* Lines in place; empty ones and comments are left out. */
static int lines_split(char *text, char **arguments)
{
        int count = 0;

        for (char *save = NULL, *line = strtok_r(text, "\n", &save); line && count < ARGUMENTS_MOST;
             line = strtok_r(NULL, "\n", &save)) {
                line += strspn(line, " \t");
                for (size_t end = strlen(line); end > 0 && strchr(" \t\r", line[end - 1]); end--)
                        line[end - 1] = '\0';
                if (*line && *line != '#')
                        arguments[count++] = line;
        }
        return count;
}

static int arguments_take(struct runtime_options *options, int count, char **arguments,
                          struct err *e)
{
        struct cli_scan scan = { .program = "runtime.conf",
                                 .rows = runtime_options_rows,
                                 .argc = count,
                                 .argv = arguments };

        for (int row; (row = cli_scan_next(&scan, e)) != CLI_END;) {
                if (row == CLI_BAD)
                        return -EINVAL;
                if (row < 0)
                        return err_set(e, -EINVAL, "a line is '--option=value', not '%.80s'",
                                       row == CLI_HELP ? "--help" : scan.value);
                const int r = option_take(options, row, scan.value, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

int runtime_options_read(struct runtime_options *ret_options, struct err *e)
{
        const char *path = runtime_options_path();
        char *arguments[ARGUMENTS_MOST];

        *ret_options = (struct runtime_options){ .socket = NODE_SOCKET_PATH,
                                                 .state = "/run/vgpu/runtime",
                                                 .wait_ms = 10000 };
        int r = file_read(path, &ret_options->text);
        if (r == -ENOENT && strcmp(path, RUNTIME_OPTIONS_PATH) == 0)
                return 0;
        if (r < 0)
                return err_set(e, r, "cannot read '%s': %s", path, strerror(-r));
        r = arguments_take(ret_options, lines_split(ret_options->text, arguments), arguments, e);
        return r < 0 ? err_context(e, r, path) : 0;
}

void runtime_options_done(struct runtime_options *options)
{
        free(options->text);
}
