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

bool scan_json(const struct command *command, int argc, char **argv, bool *ret_is_json,
               int *ret_exit)
{
        struct scan scan;
        int option;

        scan_init(&scan, command, argc, argv);
        while ((option = scan_next(&scan)) >= 0)
                *ret_is_json = true;
        if (option == SCAN_WORD)
                *ret_exit = complain(EXIT_USAGE, "'%s' takes no '%s'", scan.program, scan.value);
        else if (option != SCAN_END)
                *ret_exit = scan_exit(&scan, option);
        return option == SCAN_END;
}
