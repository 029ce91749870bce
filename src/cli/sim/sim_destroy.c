/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu sim destroy: removes a machine that nobody uses. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine_option.h"

enum { MACHINE, FORCE, ROWS };

const struct cli_option sim_destroy_options[] = {
        [MACHINE] = { "machine", "PATH", "the machine; default: VGPU_SIM", "file" },
        [FORCE] = { "force", NULL, "even while processes use it", NULL },
        { 0 },
};

static int destroy_machine(const char *path, bool is_forced)
{
        struct machine_view view;
        struct err e = { 0 };
        unsigned users = 0;

        /* Only a machine is ever unlinked, whatever path was typed. --force also takes one of
         * another release: nothing else can remove it. */
        if (machine_view_open(path, &view, &e) == 0) {
                users = machine_view_users(&view);
                machine_view_close(&view);
        } else if (!is_forced || e.code != -EPROTO || !strstr(e.text, "version")) {
                return complain(EXIT_FAILED, "%s", e.text);
        }
        if (users > 0 && !is_forced)
                return complain(EXIT_FAILED,
                                "machine '%s' is in use by %u process%s; end %s, or "
                                "use --force",
                                path, users, users > 1 ? "es" : "", users > 1 ? "them" : "it");
        if (unlink(path) < 0)
                return complain(EXIT_FAILED, "cannot remove machine '%s': %s", path,
                                strerror(errno));
        return EXIT_OK;
}

int command_sim_destroy(const struct command *command, int argc, char **argv)
{
        bool flags[ROWS] = { false };
        const char *path;
        int code;

        if (!machine_option_parse(command, argc, argv, flags, &path, &code))
                return code;
        path = machine_option_path(path);
        return path ? destroy_machine(path, flags[FORCE]) : EXIT_USAGE;
}
