/* Reads a command's arguments by its option rows. */
#include "scan.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"

void scan_init(struct scan *scan, const struct command *command, int argc, char **argv)
{
        *scan = (struct scan){ .command = command, .argc = argc, .argv = argv };
}

int scan_exit(const struct scan *scan, int result)
{
        if (result == SCAN_HELP)
                return EXIT_OK;
        return scan->command->usage_exit ? scan->command->usage_exit : EXIT_USAGE;
}

static int scan_unknown(const struct scan *scan, const char *name)
{
        struct nearest nearest = { 0 };
        char hint[96];

        for (const struct cli_option *o = scan->command->options; o->name; o++)
                nearest_offer(&nearest, name, o->name);
        nearest_offer(&nearest, name, "help");
        complain(0, "'vgpu %s' has no option '--%s'%s", scan->command->name, name,
                 nearest_text(&nearest, "--", hint, sizeof hint));
        return SCAN_BAD;
}

static int scan_option(struct scan *scan, const char *word)
{
        const char *equals = strchr(word, '=');
        char name[64];

        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word) : (int)strlen(word),
                 word);
        if (strcmp(name, "help") == 0) {
                help_print_command(scan->command);
                return SCAN_HELP;
        }
        for (int i = 0; scan->command->options[i].name; i++) {
                const struct cli_option *option = &scan->command->options[i];

                if (strcmp(option->name, name) != 0)
                        continue;
                if (!option->argument && equals) {
                        complain(0, "'--%s' takes no value", name);
                        return SCAN_BAD;
                }
                if (option->argument && !equals && scan->index >= scan->argc) {
                        complain(0, "'--%s' needs a value: --%s %s", name, name, option->argument);
                        return SCAN_BAD;
                }
                scan->value = equals ? equals + 1 : NULL;
                if (option->argument && !equals)
                        scan->value = scan->argv[scan->index++];
                return i;
        }
        return scan_unknown(scan, name);
}

int scan_next(struct scan *scan)
{
        const char *word;

        if (scan->index >= scan->argc)
                return SCAN_END;
        word = scan->argv[scan->index++];
        if (scan->is_after_dashes || word[0] != '-' || word[1] == '\0') {
                scan->value = word;
                return SCAN_WORD;
        }
        if (strcmp(word, "--") == 0) {
                scan->is_after_dashes = true;
                return scan_next(scan);
        }
        if (strcmp(word, "-h") == 0)
                return scan_option(scan, "help");
        if (word[1] != '-') {
                complain(0,
                         "'vgpu %s' has no option '%s'; options have two dashes (vgpu %s --help)",
                         scan->command->name, word, scan->command->name);
                return SCAN_BAD;
        }
        return scan_option(scan, word + 2);
}
