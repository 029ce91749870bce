/* SPDX-License-Identifier: Apache-2.0 */
/* The completion script of bash. */
#include <stdio.h>
#include <string.h>

#include "completion.h"

/* bash splits words at '=' and ':', so --sim=a:2 arrives as five words. */
static const char head[] =
        "# bash completion for vgpu; made by `vgpu completion bash`.\n"
        "_vgpu_ask()\n{\n"
        "        \"${COMP_WORDS[0]/#\\~/$HOME}\" completion \"$1\" 2>/dev/null\n}\n\n"
        "_vgpu_files()\n{\n"
        "        compopt -o filenames 2>/dev/null\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n}\n\n"
        "# A program and its arguments, from this word on: as they are completed by themselves.\n"
        "_vgpu_program()\n{\n"
        "        if declare -F _command_offset >/dev/null; then\n"
        "                _command_offset \"$1\"\n"
        "        elif [ \"$COMP_CWORD\" -eq \"$1\" ]; then\n"
        "                compopt -o filenames 2>/dev/null\n"
        "                mapfile -t COMPREPLY < <(compgen -c -f -- \"${COMP_WORDS[COMP_CWORD]}\")\n"
        "        else\n"
        "                _vgpu_files \"${COMP_WORDS[COMP_CWORD]}\"\n"
        "        fi\n}\n\n"
        "_vgpu()\n{\n"
        "        local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "        local command=${COMP_WORDS[1]} options='' takes='' offer='' last='' at=2 "
        "words=()\n";

static const char parser[] =
        "        # The words that are neither options nor their values; \"--\" ends the options.\n"
        "        for ((; at < COMP_CWORD; at++)); do\n"
        "                case \"${COMP_WORDS[at]}\" in\n"
        "                --)\n"
        "                        [ \"$command\" = run ] && _vgpu_program $((at + 1))\n"
        "                        return ;;\n"
        "                = | :) ((at++)) ;;\n"
        "                -*)\n"
        "                        if [[ $takes == *\" ${COMP_WORDS[at]} \"* ]]; then\n"
        "                                [ \"${COMP_WORDS[at+1]}\" = = ] && ((at++))\n"
        "                                ((at++))\n"
        "                        fi ;;\n"
        "                *)\n"
        "                        if [ \"$command\" = run ]; then\n"
        "                                _vgpu_program \"$at\"\n"
        "                                return\n"
        "                        fi\n"
        "                        last=${COMP_WORDS[at]}\n"
        "                        words+=(\"$last\") ;;\n"
        "                esac\n"
        "        done\n"
        "        [ \"$word\" = : ] || [ \"$previous\" = : ] && return\n";

static void print_offer(const char *completion)
{
        if (!completion)
                printf("return ;;\n");
        else if (strcmp(completion, "file") == 0)
                printf("_vgpu_files \"$word\"; return ;;\n");
        else if (strcmp(completion, "preset") == 0)
                printf("offer=$presets ;;\n");
        else if (strcmp(completion, "column") == 0) /* each behind what the list has already */
                printf("[[ $word == *,* ]] && offer=${word%%,*},; "
                       "offer=$offer${columns// / $offer} ;;\n");
        else if (strcmp(completion, "share") == 0)
                printf("offer=$(_vgpu_ask shares) ;;\n");
        else if (strcmp(completion, "function") == 0)
                printf("offer=$(_vgpu_ask functions) ;;\n");
        else if (strcmp(completion, "action") == 0)
                printf("offer=$actions ;;\n");
        else if (strcmp(completion, "command") == 0)
                printf("offer=$commands ;;\n");
        else if (strcmp(completion, "program") == 0)
                printf("_vgpu_program \"$COMP_CWORD\"; return ;;\n");
        else
                printf("offer='%s' ;;\n", completion);
}

/* A group's second word, and the two together. */
static void print_group(const char *group)
{
        printf("        if [ \"$command\" = %s ]; then\n"
               "                if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
               "                        COMPREPLY=($(compgen -W '",
               group);
        completion_words(group);
        printf("--help' -- \"$word\"))\n                        return\n                fi\n"
               "                command=\"%s ${COMP_WORDS[2]}\"\n                at=3\n        "
               "fi\n",
               group);
}

static void print_options(const struct command *command)
{
        printf("        '%s')\n                options='", command->name);
        for (const struct cli_option *option = command->options; option->name; option++)
                printf("--%s ", option->name);
        printf("--help'\n                takes=' ");
        for (const struct cli_option *option = command->options; option->name; option++)
                if (option->argument)
                        printf("--%s ", option->name);
        printf("' ;;\n");
}

static void print_values(const struct command *command)
{
        for (const struct cli_option *option = command->options; option->name; option++) {
                if (!option->argument)
                        continue;
                printf("        '%s --%s') ", command->name, option->name);
                print_offer(option->completion);
        }
}

/* By the command, how many words stand before, and the word before. */
static void print_word_offers(void)
{
        struct command_action action;

        printf("        case \"$command ${#words[@]} $last\" in\n");
        for (size_t i = 0; i < command_count(); i++) {
                if (!command_at(i)->completion)
                        continue;
                printf("        '%s 0 ') ", command_at(i)->name);
                print_offer(command_at(i)->completion);
        }
        for (size_t i = 0; command_group_at(i); i++) {
                printf("        'help 1 %s') offer='", command_group_at(i));
                completion_words(command_group_at(i));
                printf("' ;;\n");
        }
        for (size_t i = 0; command_action_at(i, &action); i++) {
                if (action.completion[0]) {
                        printf("        'sim inject 1 %s') ", action.name);
                        print_offer(action.completion[0]);
                }
        }
        printf("        'sim inject 2 '*)\n                case \"${words[0]}\" in\n");
        for (size_t i = 0; command_action_at(i, &action); i++) {
                if (action.completion[1]) {
                        printf("                %s) ", action.name);
                        print_offer(action.completion[1]);
                }
        }
        printf("                esac ;;\n        esac\n");
}

static void print_lists(void)
{
        printf("        local presets='");
        completion_presets();
        printf("'\n        local columns='");
        completion_columns();
        printf("'\n        local commands='");
        completion_words("");
        printf("'\n        local actions='");
        completion_actions();
        printf("'\n        COMPREPLY=()\n"
               "        [ \"$word\" = = ] && word=''\n"
               "        [ \"$previous\" = = ] && previous=${COMP_WORDS[COMP_CWORD-2]}\n"
               "        if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
               "                COMPREPLY=($(compgen -W \"$commands --help --version\" -- "
               "\"$word\"))\n"
               "                return\n        fi\n");
}

void completion_bash(void)
{
        printf("%s", head);
        print_lists();
        for (size_t i = 0; command_group_at(i); i++)
                print_group(command_group_at(i));
        printf("        case \"$command\" in\n");
        for (size_t i = 0; i < command_count(); i++)
                print_options(command_at(i));
        printf("        esac\n%s        case \"$command $previous\" in\n", parser);
        for (size_t i = 0; i < command_count(); i++)
                print_values(command_at(i));
        printf("        *)\n        if [[ $word == -* ]]; then\n                offer=$options\n   "
               "     else\n");
        print_word_offers();
        printf("        fi ;;\n        esac\n"
               "        COMPREPLY=($(compgen -W \"$offer\" -- \"$word\"))\n}\n"
               "complete -F _vgpu vgpu\n");
}
