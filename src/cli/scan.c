/* Reads a command's arguments by its option rows. */
#include "scan.h"

#include <stdio.h>

void scan_init(struct scan *scan, const struct command *command, int argc, char **argv)
{
        *scan = (struct scan){
                .command = command,
                .words = { .rows = command->options, .argc = argc, .argv = argv },
        };
        snprintf(scan->program, sizeof scan->program, "vgpu %s", command->name);
}

int scan_exit(const struct scan *scan, int result)
{
        if (result == SCAN_HELP)
                return EXIT_OK;
        return scan->command->usage_exit ? scan->command->usage_exit : EXIT_USAGE;
}

int scan_next(struct scan *scan)
{
        struct err e = { 0 };

        scan->words.program = scan->program;
        const int option = cli_scan_next(&scan->words, &e);

        if (option == SCAN_BAD)
                complain(0, "%s", e.text);
        if (option == SCAN_HELP)
                help_print_command(scan->command);
        scan->value = scan->words.value;
        return option;
}
