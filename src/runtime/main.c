/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu-runtime: an OCI runtime that hands containers their shares, and leaves everything else to
 * the runtime behind it. */
#include <stdio.h>
#include <string.h>

#include "cdi.h"
#include "command_line.h"
#include "container_folder.h"
#include "exec_process.h"
#include "failure.h"
#include "install.h"
#include "log.h"
#include "preload_library.h"
#include "prepare.h"
#include "real_runtime.h"
#include "runtime_options.h"
#include "verify.h"

static int help_print(void)
{
        printf("vgpu-runtime: an OCI runtime that gives each container its share of a GPU.\n\n"
               "  vgpu-runtime [OPTION]... create|run [OPTION]... ID\n"
               "                          completes the container's config.json, then calls the\n"
               "                          other runtime\n"
               "  vgpu-runtime [OPTION]... exec --process FILE [OPTION]... ID\n"
               "                          completes the process in FILE, then calls the other\n"
               "                          runtime\n"
               "  vgpu-runtime install ...\n"
               "                          installs this program and its library on a node\n"
               "  vgpu-runtime cdi ...    makes a share as a CDI device; see 'vgpu-runtime cdi "
               "--help'\n"
               "  vgpu-runtime ...        passes anything else to the other runtime, unchanged\n\n"
               "Options, one per line in %s (VGPU_RUNTIME_CONF names another file):\n",
               RUNTIME_OPTIONS_PATH);
        runtime_options_print();
        printf("\nSee vgpu-runtime(8).\n");
        return 0;
}

/* What the container was given goes with it. */
static int delete_with(const struct command_line *line, const struct runtime_options *options,
                       const char *real, char **argv, struct err *e)
{
        char folder[PATH_MAX];

        if (!container_folder_find(options->state, line->root, line->id, folder))
                return real_runtime_exec(real, argv, e);
        const int status = real_runtime_run(real, argv, e);
        if (status == 0)
                container_folder_remove(folder);
        return status;
}

int main(int argc, char **argv)
{
        const struct command_line line = command_line_read(argc, argv);
        char real[PATH_MAX], library[PATH_MAX];
        struct err e = { 0 }, options_e = { 0 };
        struct runtime_options options;

        log_open("runtime", LOG_LEVEL_WARN);
        if (argc > 1 && strcmp(argv[1], "cdi") == 0)
                return cdi_command(argc - 2, argv + 2);
        if (argc > 1 && strcmp(argv[1], "install") == 0)
                return install_command(argc - 2, argv + 2);
        if (argc > 1 && strcmp(argv[1], "verify") == 0)
                return verify_command(argc - 2, argv + 2);
        if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
                return help_print();
        int r = runtime_options_read(&options, &options_e);
        if (r < 0 && command_line_starts(&line))
                return failure_tell(&line, options_e.text);
        r = real_runtime_find(options.runtime, real, &e);
        if (r == 0 && command_line_starts(&line)) {
                if (!options.library && preload_library_find(library))
                        options.library = library;
                r = prepare_container(&line, &options, &e);
        }
        /* A program that is told less starts all the same; its limits do not hang on that. */
        if (r == 0 && line.process && exec_process_inject(&line, &options, &e) < 0)
                fprintf(stderr, "vgpu-runtime: %s\n", e.text);
        if (r == 0)
                r = command_line_deletes(&line) ? delete_with(&line, &options, real, argv, &e)
                                                : real_runtime_exec(real, argv, &e);
        runtime_options_done(&options);
        return r < 0 ? failure_tell(&line, e.text) : r;
}
