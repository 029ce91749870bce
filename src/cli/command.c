/* The table of commands, and the look-ups in it. */
#include "command.h"

#include <string.h>

static const struct command commands[] = {
        { .name = "run",
          .usage = "[OPTION]… -- PROGRAM [ARGUMENT]…",
          .run = command_run,
          .options = run_options,
          .usage_exit = EXIT_RUN_FAILED,
          .summary = "run a program on a simulated or real GPU",
          .details =
                  "The program keeps its own process id, exit status, signals, terminal and "
                  "output.\n"
                  "vgpu itself speaks on standard error only and exits with 125 when it fails,\n"
                  "126 when the program cannot be executed, 127 when there is no such program.\n"
                  "Without --sim and --machine, the machine in the environment variable "
                  "VGPU_SIM is\n"
                  "used, else the real driver. Options with a * are limits: this release refuses "
                  "to\n"
                  "run with them.\n" },
        { .name = "sim create",
          .usage = "[OPTION]…",
          .run = command_sim_create,
          .options = sim_create_options,
          .summary = "make a simulated machine" },
        { .name = "sim list",
          .usage = "[OPTION]…",
          .run = command_sim_list,
          .options = sim_list_options,
          .summary = "list the presets and the machines in use" },
        { .name = "sim show",
          .usage = "[OPTION]…",
          .run = command_sim_show,
          .options = sim_show_options,
          .summary = "show a machine's GPUs, links and instances" },
        { .name = "sim stat",
          .usage = "[OPTION]…",
          .run = command_sim_stat,
          .options = sim_stat_options,
          .summary = "show memory, load, processes and counters of a machine" },
        { .name = "sim inject",
          .usage = "[OPTION]… ACTION [ARGUMENT]…",
          .run = command_sim_inject,
          .options = sim_inject_options,
          .summary = "make calls fail, GPUs break or memory disappear",
          .details =
                  "Actions:\n"
                  "  fail FUNCTION       calls of FUNCTION fail (--result, --times); '*' is every "
                  "call\n"
                  "  hang FUNCTION       calls of FUNCTION do not return until cleared\n"
                  "  xid GPU NUMBER      an Xid event\n"
                  "  ecc GPU KIND        an ECC error, KIND is corrected or uncorrected (--times)\n"
                  "  lose GPU            the GPU falls off the bus\n"
                  "  restore GPU         it comes back\n"
                  "  outsider GPU SIZE   memory taken by nobody we know; 0 gives it back\n"
                  "  clear               no more faults, all GPUs restored, outsiders gone\n" },
        { .name = "sim destroy",
          .usage = "[OPTION]…",
          .run = command_sim_destroy,
          .options = sim_destroy_options,
          .summary = "remove a machine that nobody uses" },
        { .name = "completion",
          .usage = "bash",
          .run = command_completion,
          .options = completion_options,
          .summary = "print the shell's completion script" },
        { .name = "help",
          .usage = "[COMMAND]",
          .run = command_help,
          .options = help_options,
          .summary = "explain a command" },
        { .name = "version",
          .usage = "",
          .run = command_version,
          .options = help_options,
          .summary = "print the version" },
};

size_t command_count(void)
{
        return sizeof commands / sizeof commands[0];
}

const struct command *command_at(size_t index)
{
        return &commands[index];
}

/* How many of the words the name takes; 0: it is another name. */
static int name_match(const char *name, int argc, char *const *argv)
{
        const char *space = strchr(name, ' ');
        const size_t length = space ? (size_t)(space - name) : strlen(name);

        if (argc < 1 || strlen(argv[0]) != length || memcmp(argv[0], name, length) != 0)
                return 0;
        if (!space)
                return 1;
        return argc > 1 && strcmp(argv[1], space + 1) == 0 ? 2 : 0;
}

const struct command *command_find(int argc, char *const *argv, int *ret_words)
{
        for (size_t i = 0; i < command_count(); i++) {
                const int words = name_match(commands[i].name, argc, argv);

                if (words > 0) {
                        *ret_words = words;
                        return &commands[i];
                }
        }
        return NULL;
}

bool command_is_group(const char *word)
{
        const size_t length = strlen(word);

        for (size_t i = 0; i < command_count(); i++)
                if (strncmp(commands[i].name, word, length) == 0 && commands[i].name[length] == ' ')
                        return true;
        return false;
}
