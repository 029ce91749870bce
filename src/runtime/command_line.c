/* SPDX-License-Identifier: Apache-2.0 */
/* command_line: runc, crun and those in their place share it, but not every option. So the command
 * is the first word that is one; a word in between is the value of an option that we do not know. */
#include "command_line.h"

#include <stddef.h>
#include <string.h>

static const char *const commands[] = {
        "checkpoint", "create", "delete", "events", "exec",   "features", "help",
        "init",       "kill",   "list",   "pause",  "ps",     "restore",  "resume",
        "run",        "spec",   "start",  "state",  "update",
};

/* Options with a value, in any command that we look at. */
static const struct option {
        const char *name;
        size_t offset; /* in struct command_line; 0: only to be passed over */
} options[] = {
        { "root", offsetof(struct command_line, root) },
        { "log", offsetof(struct command_line, log) },
        { "bundle", offsetof(struct command_line, bundle) },
        { "b", offsetof(struct command_line, bundle) },
        { "config", offsetof(struct command_line, config) },
        { "f", offsetof(struct command_line, config) },
        { "log-format", 0 },
        { "log-level", 0 },
        { "criu", 0 },
        { "rootless", 0 },
        { "cgroup-manager", 0 },
        { "console-socket", 0 },
        { "pid-file", 0 },
        { "preserve-fds", 0 },
        { "image-path", 0 },
        { "work-path", 0 },
        { "parent-path", 0 },
        { "manage-cgroups-mode", 0 },
        { "empty-ns", 0 },
        { "lsm-profile", 0 },
        { "lsm-mount-context", 0 },
        { "status-fd", 0 },
};

/* Those of `exec`, where letters mean other things. */
static const struct option exec_options[] = {
        { "process", offsetof(struct command_line, process) },
        { "p", offsetof(struct command_line, process) },
        { "console-socket", 0 },
        { "cwd", 0 },
        { "env", 0 },
        { "e", 0 },
        { "user", 0 },
        { "u", 0 },
        { "additional-gids", 0 },
        { "g", 0 },
        { "pid-file", 0 },
        { "process-label", 0 },
        { "apparmor", 0 },
        { "cap", 0 },
        { "c", 0 },
        { "preserve-fds", 0 },
        { "cgroup", 0 },
};

static bool command_is(const struct command_line *line, const char *command)
{
        return line->command && strcmp(line->command, command) == 0;
}

static bool is_exec(const struct command_line *line)
{
        return command_is(line, "exec");
}

static bool is_command(const char *argument)
{
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
                if (strcmp(argument, commands[i]) == 0)
                        return true;
        return false;
}

static const struct option *option_find(const struct command_line *line, const char *name,
                                        size_t length)
{
        const struct option *rows = is_exec(line) ? exec_options : options;
        const size_t count =
                is_exec(line) ? sizeof exec_options / sizeof *rows : sizeof options / sizeof *rows;

        for (size_t i = 0; i < count; i++)
                if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
                        return &rows[i];
        return NULL;
}

static void option_put(struct command_line *line, const struct option *option, const char *value)
{
        /* `delete -f` is no file. */
        if (line->command && !command_line_starts(line) && !is_exec(line))
                return;
        if (strcmp(option->name, "log-format") == 0)
                line->is_log_json = strcmp(value, "json") == 0;
        else if (option->offset)
                *(const char **)((char *)line + option->offset) = value;
}

/* "--name value", "--name=value", "-name" (as Go's programs have it), "-bFOLDER" (as C's do).
 * Returns how many words it was. */
static int option_read(struct command_line *line, const char *argument, const char *next)
{
        const char *name = argument + 1 + (argument[1] == '-');
        const size_t length = strcspn(name, "=");
        const struct option *option = option_find(line, name, length);

        if (option && name[length] == '=')
                option_put(line, option, name + length + 1);
        else if (option && next && !(line->command && command_line_deletes(line)))
                return option_put(line, option, next), 2;
        else if (!option && argument[1] == 'b' && argument[2])
                line->bundle = argument + 2;
        else if (!option && is_exec(line) && strncmp(argument, "-p/", 3) == 0)
                line->process = argument + 2;
        return 1;
}

struct command_line command_line_read(int argc, char *const *argv)
{
        struct command_line line = { .bundle = ".", .root = "" };
        bool is_after_dashes = false;

        for (int i = 1; i < argc;) {
                const char *argument = argv[i];

                if (!is_after_dashes && strcmp(argument, "--") == 0) {
                        is_after_dashes = true;
                        i++;
                } else if (!is_after_dashes && argument[0] == '-' && argument[1]) {
                        i += option_read(&line, argument, i + 1 < argc ? argv[i + 1] : NULL);
                } else {
                        if (line.command)
                                line.id = argument; /* the last word is */
                        else if (is_command(argument))
                                line.command = argument;
                        if (is_exec(&line) && line.id)
                                break; /* what follows is another program's */
                        i++;
                }
        }
        return line;
}

/* A container that is restored is given the same things as a new one. */
bool command_line_starts(const struct command_line *line)
{
        return command_is(line, "create") || command_is(line, "run") || command_is(line, "restore");
}

bool command_line_deletes(const struct command_line *line)
{
        return command_is(line, "delete");
}
