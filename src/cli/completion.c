/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu completion: the completion scripts of shells, and the lists that they ask for as they run. */
#include "completion.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arg_parser.h"
#include "preset.h"
#include "ps_columns.h"
#include "scope_option.h"
#include "snapshot.h"

const struct cli_option completion_options[] = { { 0 } };

const char *completion_second(const char *name, const char *group)
{
        const size_t length = strlen(group);

        return strncmp(name, group, length) == 0 && name[length] == ' ' ? name + length + 1 : NULL;
}

/* "create, list, show, …" */
static void group_summary(const char *group, char *ret_text, size_t size)
{
        size_t length = 0;

        ret_text[0] = '\0';
        for (size_t i = 0; i < command_count() && length < size; i++) {
                const char *second = completion_second(command_at(i)->name, group);

                if (second)
                        length += (size_t)snprintf(ret_text + length, size - length, "%s%s",
                                                   length ? ", " : "", second);
        }
}

/* The group that begins with this command of the table; NULL: it is of none, or not its first. */
static const char *group_begin(size_t index)
{
        const char *group = command_group(command_at(index)->name);

        if (!*group || (index > 0 && command_group(command_at(index - 1)->name) == group))
                return NULL;
        return group;
}

void completion_each(const char *group, void (*print)(const char *word, const char *summary))
{
        char text[128];

        for (size_t i = 0; i < command_count(); i++) {
                const struct command *command = command_at(i);
                const char *second = completion_second(command->name, group);

                if (second) {
                        print(second, command->summary);
                } else if (*group) {
                        continue;
                } else if (!strchr(command->name, ' ')) {
                        print(command->name, command->summary);
                } else if (group_begin(i)) {
                        group_summary(group_begin(i), text, sizeof text);
                        print(group_begin(i), text);
                }
        }
}

static void word_print(const char *word, const char *summary)
{
        (void)summary;
        printf("%s ", word);
}

void completion_words(const char *group)
{
        completion_each(group, word_print);
}

void completion_presets(void)
{
        for (size_t i = 0; i < preset_count(); i++)
                printf("%s ", preset_at(i)->name);
}

void completion_columns(void)
{
        for (size_t i = 0; i < PS_COLUMNS; i++)
                printf("%s%s", i ? " " : "", ps_columns[i].key);
}

void completion_actions(void)
{
        struct command_action action;

        for (size_t i = 0; command_action_at(i, &action); i++)
                printf("%s ", action.name);
}

/* As `vgpu set` takes them: another user's with its owner. A share that cannot be read is not offered, and
 * nobody wants to hear of it while they type. */
static void shares_print(void)
{
        const struct snapshot_scope scope = scope_option_default();
        struct snapshot snapshot;
        char own[SNAPSHOT_USER];

        if (!freopen("/dev/null", "w", stderr))
                return;
        user_name_find(geteuid(), own);
        snapshot_take(&scope, &snapshot);
        for (size_t i = 0; i < snapshot.shares.count; i++) {
                const struct share_view *share = vec_at(&snapshot.shares, i);

                if (*share->user && strcmp(share->user, own) != 0)
                        printf("%s/%s\n", share->user, share->name);
                else
                        puts(share->name);
        }
        snapshot_done(&snapshot);
}

static const struct {
        const char *name;
        void (*print)(void);
} subjects[] = {
        { "bash", completion_bash },
        { "zsh", completion_zsh },
        { "fish", completion_fish },
        { "shares", shares_print },
        { "functions", command_action_print_functions },
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static size_t subject_find(const char *word)
{
        size_t i = 0;

        while (i < SUBJECTS && strcmp(subjects[i].name, word) != 0)
                i++;
        return i;
}

int command_completion(const struct command *command, int argc, char **argv)
{
        struct arg_parser parser;
        size_t subject;
        int option;

        arg_parser_init(&parser, command, argc, argv);
        option = arg_parser_next(&parser);
        if (option == ARG_BAD || option == ARG_HELP)
                return arg_parser_exit(&parser, option);
        if (option != ARG_PLAIN)
                return complain(EXIT_USAGE, "missing SHELL: bash, zsh or fish");
        subject = subject_find(parser.value);
        if (subject == SUBJECTS)
                return complain(EXIT_USAGE,
                                "there is no completion for '%.40s' (expected bash, zsh "
                                "or fish)",
                                parser.value);
        option = arg_parser_next(&parser);
        if (option != ARG_END)
                return option == ARG_PLAIN ? complain_unexpected(parser.value)
                                           : arg_parser_exit(&parser, option);
        subjects[subject].print();
        return EXIT_OK;
}
