/* SPDX-License-Identifier: Apache-2.0 */
/* Options on a command line. */
#include "cli_option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"

static int scan_unknown(const struct cli_scan *scan, const char *name, struct err *e)
{
        struct nearest nearest = { 0 };
        char hint[96];

        for (const struct cli_option *row = scan->rows; row->name; row++)
                nearest_offer(&nearest, name, row->name);
        nearest_offer(&nearest, name, "help");
        err_set(e, -EINVAL, "'%s' has no option '--%s'%s", scan->program, name,
                nearest_text(&nearest, "--", hint, sizeof hint));
        return CLI_BAD;
}

/* What begins with two dashes is the next option, or their end; --name=--value says otherwise. */
static bool has_value(const struct cli_scan *scan)
{
        return scan->index < scan->argc && strncmp(scan->argv[scan->index], "--", 2) != 0;
}

static int scan_value(struct cli_scan *scan, int index, const char *equals, struct err *e)
{
        const struct cli_option *row = &scan->rows[index];

        if (!row->argument && equals) {
                err_set(e, -EINVAL, "'--%s' takes no value", row->name);
                return CLI_BAD;
        }
        if (row->argument && !equals && !has_value(scan)) {
                err_set(e, -EINVAL, "'--%s' needs a value: --%s %s", row->name, row->name,
                        row->argument);
                return CLI_BAD;
        }
        scan->value = equals ? equals + 1 : NULL;
        if (row->argument && !equals)
                scan->value = scan->argv[scan->index++];
        return index;
}

static int scan_option(struct cli_scan *scan, const char *word, struct err *e)
{
        const char *equals = strchr(word, '=');
        char name[64];

        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word) : (int)strlen(word),
                 word);
        if (strcmp(name, "help") == 0)
                return CLI_HELP;
        for (int i = 0; scan->rows[i].name; i++)
                if (strcmp(scan->rows[i].name, name) == 0)
                        return scan_value(scan, i, equals, e);
        return scan_unknown(scan, name, e);
}

static bool row_is_there(const struct cli_option *rows, const char *name)
{
        while (rows->name && strcmp(rows->name, name) != 0)
                rows++;
        return rows->name;
}

int cli_scan_next(struct cli_scan *scan, struct err *e)
{
        const char *word;

        if (scan->index >= scan->argc)
                return CLI_END;
        word = scan->argv[scan->index++];
        if (scan->is_after_dashes || word[0] != '-' || word[1] == '\0') {
                scan->value = word;
                return CLI_PLAIN;
        }
        if (strcmp(word, "--") == 0) {
                scan->is_after_dashes = true;
                return cli_scan_next(scan, e);
        }
        if (strcmp(word, "-h") == 0)
                return CLI_HELP;
        if (strcmp(word, "-n") == 0 && row_is_there(scan->rows, "namespace"))
                return scan_option(scan, "namespace", e); /* as kubectl has it */
        if (word[1] != '-') {
                err_set(e, -EINVAL, "'%s' has no option '%s'; options have two dashes (%s --help)",
                        scan->program, word, scan->program);
                return CLI_BAD;
        }
        return scan_option(scan, word + 2, e);
}

/* Where summaries begin, and where they must end. */
enum { LEFT_COLUMNS = 29, RIGHT_COLUMNS = 90 };

/* Word by word, so that no terminal breaks a word; the next lines are indented. */
static void summary_print(const char *text)
{
        int column = LEFT_COLUMNS;

        while (*text) {
                const int length = (int)strcspn(text, " ");

                if (column > LEFT_COLUMNS && column + 1 + length > RIGHT_COLUMNS) {
                        printf("\n%*s", LEFT_COLUMNS, "");
                        column = LEFT_COLUMNS;
                }
                column += printf("%s%.*s", column > LEFT_COLUMNS ? " " : "", length, text);
                text += length + (text[length] == ' ');
        }
        printf("\n");
}

void cli_option_print(const struct cli_option *rows)
{
        for (; rows->name; rows++) {
                char left[64];
                const int length =
                        snprintf(left, sizeof left, "  --%s%s%s", rows->name,
                                 rows->argument ? " " : "", rows->argument ? rows->argument : "");

                if (length < LEFT_COLUMNS)
                        printf("%-*s", LEFT_COLUMNS, left);
                else
                        printf("%s\n%*s", left, LEFT_COLUMNS, "");
                summary_print(rows->summary);
        }
}
