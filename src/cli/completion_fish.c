/* SPDX-License-Identifier: Apache-2.0 */
/* The completion script of fish. */
#include <stdio.h>
#include <string.h>

#include "completion.h"

/* __vgpu_position says where the cursor is: "command" (vgpu's first word), "sim" (a group's second), "set 0
 * NAME…" (a command, how many words stand before this one, and they), "program" or "nothing" behind
 * "--". fish itself knows which options take a value; this must know as well, to count words. */
static const char position[] =
        "function __vgpu_position\n"
        "    set -l tokens (commandline -opc)\n"
        "    set -e tokens[1]\n"
        "    set -l command\n"
        "    set -l words\n"
        "    if not set -q tokens[1]\n"
        "        echo command\n"
        "        return\n"
        "    end\n"
        "    set command $tokens[1]\n"
        "    set -e tokens[1]\n"
        "    if contains -- $command $__vgpu_groups\n"
        "        if not set -q tokens[1]\n"
        "            echo $command\n"
        "            return\n"
        "        end\n"
        "        set command \"$command $tokens[1]\"\n"
        "        set -e tokens[1]\n"
        "    end\n"
        "    while set -q tokens[1]\n"
        "        set -l token $tokens[1]\n"
        "        set -e tokens[1]\n"
        "        switch $token\n"
        "            case --\n"
        "                if test \"$command\" = run\n"
        "                    echo program $tokens\n"
        "                else\n"
        "                    echo nothing\n"
        "                end\n"
        "                return\n"
        "            case '--*=*'\n"
        "            case '-*'\n"
        "                if contains -- \"$command $token\" $__vgpu_takes\n"
        "                    set -e tokens[1]\n"
        "                end\n"
        "            case '*'\n"
        "                if test \"$command\" = run\n"
        "                    echo program $token $tokens\n"
        "                    return\n"
        "                end\n"
        "                set -a words $token\n"
        "        end\n"
        "    end\n"
        "    echo $command (count $words) $words\n"
        "end\n\n"
        "function __vgpu_at\n"
        "    set -l position (__vgpu_position)\n"
        "    string match -q -- \"$argv\" \"$position\"\n"
        "end\n\n"
        "function __vgpu_program\n"
        "    set -l words (string split ' ' -- (__vgpu_position))\n"
        "    if test \"$words[1]\" != program\n"
        "        set words program\n"
        "    end\n"
        "    set -l token (commandline -ct)\n"
        "    complete --do-complete=(string join ' ' -- $words[2..] $token)\n"
        "end\n\n"
        "function __vgpu_list\n"
        "    set -l token (string replace -r '^--[a-z-]+=' '' -- "
        "(commandline -ct))\n"
        "    set -l before (string match -r '^.*,' -- $token; or echo)\n"
        "    printf '%s\\n' $before$argv\n"
        "end\n\n"
        "function __vgpu_ask\n"
        "    set -l program (commandline -opc)[1]\n"
        "    eval $program completion $argv 2>/dev/null\n"
        "end\n\n";

/* Within single quotes. */
static void print_text(const char *text)
{
        for (; *text; text++) {
                if (*text == '\'' || *text == '\\')
                        putchar('\\');
                putchar(*text);
        }
}

/* As options of `complete`. */
static void print_offer(const char *completion)
{
        if (!completion) {
                printf(" -x");
        } else if (strcmp(completion, "file") == 0) {
                printf(" -r -F");
        } else if (strcmp(completion, "share") == 0 || strcmp(completion, "function") == 0) {
                printf(" -x -a '(__vgpu_ask %ss)'", completion);
        } else if (strcmp(completion, "column") == 0) {
                printf(" -x -a '(__vgpu_list ");
                completion_columns();
                printf(")'");
        } else if (strcmp(completion, "program") == 0) {
                printf(" -x -a '(__vgpu_program)'");
        } else {
                printf(" -x -a '");
                if (strcmp(completion, "preset") == 0)
                        completion_presets();
                else if (strcmp(completion, "action") == 0)
                        completion_actions();
                else if (strcmp(completion, "command") == 0)
                        completion_words("");
                else
                        printf("%s", completion);
                printf("'");
        }
}

static void print_command(const struct command *command)
{
        for (const struct cli_option *option = command->options; option->name; option++) {
                printf("complete -c vgpu -n '__vgpu_at \"%s *\"' -l %s -d '", command->name,
                       option->name);
                print_text(option->summary);
                printf("'");
                if (option->argument)
                        print_offer(option->completion);
                printf("\n");
        }
        printf("complete -c vgpu -n '__vgpu_at \"%s *\"' -l help -d 'print help'\n", command->name);
        if (!command->completion)
                return;
        printf("complete -c vgpu -n '__vgpu_at \"%s 0\"'", command->name);
        print_offer(command->completion);
        printf("\n");
}

/* Where the words of vgpu or of a group are offered, each with what it is for. */
static const char *described_position;

static void print_described(const char *word, const char *summary)
{
        printf("complete -c vgpu -n '__vgpu_at \"%s\"' -a %s -d '", described_position, word);
        print_text(summary);
        printf("'\n");
}

static void print_groups(void)
{
        char help_position[32];

        described_position = "command";
        completion_each("", print_described);
        printf("complete -c vgpu -n '__vgpu_at command' -l help -d 'print help'\n"
               "complete -c vgpu -n '__vgpu_at command' -l version -d 'print the version'\n");
        for (size_t i = 0; command_group_at(i); i++) {
                const char *group = command_group_at(i);

                described_position = group;
                completion_each(group, print_described);
                snprintf(help_position, sizeof help_position, "help 1 %s", group);
                described_position = help_position;
                completion_each(group, print_described);
        }
}

static void print_actions(void)
{
        struct command_action action;

        for (size_t i = 0; command_action_at(i, &action); i++) {
                for (int word = 0; word < 2; word++) {
                        if (!action.completion[word])
                                continue;
                        printf("complete -c vgpu -n '__vgpu_at \"sim inject %d %s%s\"'", word + 1,
                               action.name, word ? " *" : "");
                        print_offer(action.completion[word]);
                        printf("\n");
                }
        }
}

void completion_fish(void)
{
        printf("# fish completion for vgpu; made by `vgpu completion fish`.\n"
               "set -g __vgpu_groups");
        for (size_t i = 0; command_group_at(i); i++)
                printf(" %s", command_group_at(i));
        printf("\nset -g __vgpu_takes");
        for (size_t i = 0; i < command_count(); i++)
                for (const struct cli_option *option = command_at(i)->options; option->name;
                     option++)
                        if (option->argument)
                                printf(" '%s --%s'", command_at(i)->name, option->name);
        printf("\n\n%scomplete -c vgpu -f\n", position);
        print_groups();
        for (size_t i = 0; i < command_count(); i++)
                print_command(command_at(i));
        print_actions();
        printf("complete -c vgpu -n '__vgpu_at \"program*\"'");
        print_offer("program");
        printf("\n");
}
