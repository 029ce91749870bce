/* SPDX-License-Identifier: Apache-2.0 */
/* The completion script of zsh. */
#include <stdio.h>
#include <string.h>

#include "completion.h"

static const char head[] = "#compdef vgpu\n"
                           "# zsh completion for vgpu; made by `vgpu completion zsh`.\n\n"
                           "_vgpu_ask()\n{\n"
                           "        local -a names\n"
                           "        names=(${(f)\"$(_call_program names $_vgpu_program completion "
                           "$1 2>/dev/null)\"})\n"
                           "        compadd -a names\n}\n\n"
                           "_vgpu_shares()\n{\n        _vgpu_ask shares\n}\n\n"
                           "_vgpu_functions()\n{\n        _vgpu_ask functions\n}\n\n";

static const char tail[] =
        "# Read at once, or found by compinit and called at the first completion.\n"
        "if [ \"$funcstack[1]\" = _vgpu ]; then\n"
        "        _vgpu \"$@\"\n"
        "else\n"
        "        compdef _vgpu vgpu\n"
        "fi\n";

/* Within single quotes, where [ ] and : mean something to _arguments. */
static void print_text(const char *text)
{
        for (; *text; text++) {
                if (strchr("[]:\\", *text))
                        putchar('\\');
                if (*text == '\'')
                        printf("'\\''");
                else
                        putchar(*text);
        }
}

static void print_function_name(const char *name)
{
        printf("_vgpu");
        for (printf("_"); *name; name++)
                putchar(*name == ' ' ? '_' : *name);
}

static void print_offer(const char *completion)
{
        if (!completion)
                printf(" ");
        else if (strcmp(completion, "file") == 0)
                printf("_files");
        else if (strcmp(completion, "share") == 0 || strcmp(completion, "function") == 0 ||
                 strcmp(completion, "column") == 0)
                printf("_vgpu_%ss", completion);
        else if (strcmp(completion, "action") == 0)
                printf("->action");
        else if (strcmp(completion, "command") == 0)
                printf("->command");
        else if (strcmp(completion, "preset") == 0) {
                printf("(");
                completion_presets();
                printf(")");
        } else {
                printf("(%s)", completion);
        }
}

static void print_described(const char *word, const char *summary)
{
        printf("                '");
        print_text(word);
        printf(":");
        print_text(summary);
        printf("'\n");
}

/* `kernel` and `quota` may be given again, for another name. */
static void print_option(const struct cli_option *option)
{
        const bool is_repeatable = option->argument && strstr(option->argument, "NAME=");

        printf("                '%s--%s%s[", is_repeatable ? "*" : "", option->name,
               option->argument ? "=" : "");
        print_text(option->summary);
        printf("]");
        if (option->argument) {
                printf(":");
                print_text(option->argument);
                printf(":");
                print_offer(option->completion);
        }
        printf("' \\\n");
}

/* What the words after an action are. */
static void print_actions(void)
{
        struct command_action action;

        printf("        [ \"$state\" = action ] || return\n"
               "        case $CURRENT:$words[1] in\n"
               "        1:*) compadd -- ");
        completion_actions();
        printf(";;\n");
        for (size_t i = 0; command_action_at(i, &action); i++) {
                for (int word = 0; word < 2; word++) {
                        const char *offer = action.completion[word];

                        if (!offer)
                                continue;
                        printf("        %d:%s) ", word + 2, action.name);
                        if (strcmp(offer, "function") == 0)
                                printf("_vgpu_functions ;;\n");
                        else
                                printf("compadd -- %s ;;\n", offer);
                }
        }
        printf("        esac\n");
}

/* `vgpu help sim create` */
static void print_help_words(void)
{
        printf("        [ \"$state\" = command ] || return\n"
               "        case $CURRENT:$words[1] in\n"
               "        1:*) _vgpu_describe ;;\n");
        for (size_t i = 0; command_group_at(i); i++)
                printf("        2:%s) _vgpu_describe_%s ;;\n", command_group_at(i),
                       command_group_at(i));
        printf("        esac\n");
}

static void print_command(const struct command *command)
{
        const char *completion = command->completion;

        print_function_name(command->name);
        printf("()\n{\n        local state line curcontext=$curcontext\n        local -A opt_args\n"
               "        _arguments -S -C \\\n");
        for (const struct cli_option *option = command->options; option->name; option++)
                print_option(option);
        printf("                '(- *)--help[print help]'");
        if (completion && strcmp(completion, "program") == 0)
                printf(" \\\n                '(-)*:::program: _normal'");
        else if (completion &&
                 (strcmp(completion, "action") == 0 || strcmp(completion, "command") == 0)) {
                printf(" \\\n                '*::: :->%s'", completion);
        } else if (completion) {
                printf(" \\\n                '1: :");
                print_offer(completion);
                printf("'");
        }
        printf("\n");
        if (completion && strcmp(completion, "action") == 0)
                print_actions();
        if (completion && strcmp(completion, "command") == 0)
                print_help_words();
        printf("}\n\n");
}

/* The words of a group, or of vgpu itself (""), with what they are for. */
static void print_describe(const char *group)
{
        printf("_vgpu_describe%s%s()\n{\n        local -a commands=(\n", *group ? "_" : "", group);
        completion_each(group, print_described);
        printf("        )\n        _describe -t commands 'vgpu command' commands\n}\n\n");
}

static void print_case(const char *word, const char *summary)
{
        (void)summary;
        printf("        %s) _vgpu_%s ;;\n", word, word);
}

/* The first word chooses who completes the rest. */
static void print_dispatch(const char *group)
{
        printf("_vgpu%s%s()\n{\n        local state line curcontext=$curcontext\n"
               "        local -A opt_args\n",
               *group ? "_" : "", group);
        if (!*group)
                printf("        local _vgpu_program=$words[1]\n"
                       "        [ \"$words[2]\" != run ] && (( $words[(i)--] < CURRENT )) && "
                       "return 1\n");
        printf("        _arguments -C '(- *)--help[print help]' %s\\\n"
               "                '(-)1: :_vgpu_describe%s%s' '(-)*:: :->rest'\n"
               "        [ \"$state\" = rest ] || return\n        case $words[1] in\n",
               *group ? "" : "'(- *)--version[print the version]' ", *group ? "_" : "", group);
        if (!*group) {
                completion_each("", print_case);
        } else {
                for (size_t i = 0; i < command_count(); i++) {
                        const char *second = completion_second(command_at(i)->name, group);

                        if (second)
                                printf("        %s) _vgpu_%s_%s ;;\n", second, group, second);
                }
        }
        printf("        esac\n}\n\n");
}

void completion_zsh(void)
{
        printf("%s_vgpu_columns()\n{\n        local -a names=(", head);
        completion_columns();
        printf(")\n        compset -P '*,'\n        compadd -a names\n}\n\n");
        for (size_t i = 0; i < command_count(); i++)
                print_command(command_at(i));
        for (size_t i = 0; command_group_at(i); i++) {
                print_describe(command_group_at(i));
                print_dispatch(command_group_at(i));
        }
        print_describe("");
        print_dispatch("");
        printf("%s", tail);
}
