/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_options: the file is read as a command line, each line one word of it. */
#include "runtime_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "container_paths.h"
#include "file.h"
#include "option_row.h"
#include "quantity.h"

enum { ARGUMENTS_MOST = 64, WAIT_MOST_S = 600 };

static int take_wait(void *owner, const struct option_row *row, const char *value, struct err *e)
{
        struct runtime_options *options = owner;
        double seconds;
        const int r = quantity_parse_number(value, "--wait", 0, WAIT_MOST_S, &seconds, e);

        (void)row;
        if (r == 0)
                options->wait_ms = (unsigned)(seconds * 1000);
        return r;
}

#define TEXT(field)               \
        .take = option_take_text, \
        .target = OPTION_FIELD(struct runtime_options, const char *, field)

static const struct option_row rows[] = {
        { .option = { "runtime", "PATH", "the OCI runtime to call (runc, else crun)", "file" },
          TEXT(runtime) },
        { .option = { "socket", "PATH", "socket of vgpu-node (" NODE_SOCKET_PATH ")", "file" },
          TEXT(socket) },
        { .option = { "wait", "SECONDS", "how long a GPU container waits for vgpu-node (10)",
                      NULL },
          .take = take_wait },
        { .option = { "state", "FOLDER", "folder of the containers' files (/run/vgpu/runtime)",
                      "file" },
          TEXT(state) },
        { .option = { "library", "PATH", "libvgpu.so (the one installed with this program)",
                      "file" },
          TEXT(library) },
        { .option = { "sim", "MACHINE",
                      "outside Kubernetes: use the GPUs of this simulated machine", "file" },
          TEXT(machine) },
        { .option = { "sim-driver", "FOLDER",
                      "the simulated driver, for --sim (the one installed with this program)",
                      "file" },
          TEXT(driver) },
};

enum { ROWS = sizeof rows / sizeof *rows };

void runtime_options_print(void)
{
        struct cli_option options[ROWS + 1];

        option_rows_copy(rows, ROWS, options);
        cli_option_print(options);
}

const char *runtime_options_path(void)
{
        const char *path = getenv("VGPU_RUNTIME_CONF");

        return path && *path ? path : RUNTIME_OPTIONS_PATH;
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
        struct cli_option scanned[ROWS + 1];
        struct cli_scan scan = {
                .program = "runtime.conf", .rows = scanned, .argc = count, .argv = arguments
        };

        option_rows_copy(rows, ROWS, scanned);
        for (int row; (row = cli_scan_next(&scan, e)) != CLI_END;) {
                if (row == CLI_BAD)
                        return -EINVAL;
                if (row < 0)
                        return err_set(e, -EINVAL, "invalid line '%.80s' (expected --option=value)",
                                       row == CLI_HELP ? "--help" : scan.value);
                const int r = option_row_take(options, &rows[row], scan.value, e);
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
