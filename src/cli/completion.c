/* vgpu completion: the shell's completion script, made from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "preset.h"
#include "scan.h"

const struct cli_option completion_options[] = { { 0 } };

/* The first word of a two-word command, when no command before it has the same; else NULL. */
static const char *new_group(size_t index)
{
        const char *group = command_group(command_at(index)->name);

        for (size_t i = 0; *group && i < index; i++)
                if (command_group(command_at(i)->name) == group)
                        return NULL;
        return *group ? group : NULL;
}

/* The words that may follow `group` ("" or "sim"). */
static void print_words(const char *group)
{
        const size_t length = strlen(group);

        for (size_t i = 0; i < command_count(); i++) {
                const char *name = command_at(i)->name;

                if (length > 0) {
                        if (strncmp(name, group, length) == 0 && name[length] == ' ')
                                printf("%s ", name + length + 1);
                } else if (!strchr(name, ' ')) {
                        printf("%s ", name);
                } else if (new_group(i)) {
                        printf("%s ", new_group(i));
                }
        }
}

/* A group's second word, and the two together. */
static void print_group(const char *group)
{
        printf("        if [ \"$command\" = %s ]; then\n"
               "                if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
               "                        COMPREPLY=($(compgen -W '",
               group);
        print_words(group);
        printf("' -- \"$word\"))\n                        return\n                fi\n"
               "                command=\"%s ${COMP_WORDS[2]}\"\n        fi\n",
               group);
}

static void print_presets(void)
{
        for (size_t i = 0; i < preset_count(); i++)
                printf("%s ", preset_at(i)->name);
}

static void print_command(const struct command *command)
{
        printf("        '%s')\n                options='", command->name);
        for (const struct cli_option *option = command->options; option->name; option++)
                printf("--%s ", option->name);
        printf("--help'\n                case \"$previous\" in\n");
        for (const struct cli_option *option = command->options; option->name; option++) {
                if (!option->argument)
                        continue;
                printf("                --%s) ", option->name);
                if (!option->completion)
                        printf("return ;;\n");
                else if (strcmp(option->completion, "file") == 0)
                        printf("COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
                else if (strcmp(option->completion, "preset") == 0)
                        printf("COMPREPLY=($(compgen -W \"$presets\" -- \"$word\")); return ;;\n");
                else
                        printf("COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n",
                               option->completion);
        }
        printf("                esac ;;\n");
}

static void print_script(void)
{
        printf("# bash completion for vgpu; made by `vgpu completion bash`.\n"
               "_vgpu()\n{\n"
               "        local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
               "        local command=${COMP_WORDS[1]} options= presets='");
        print_presets();
        /* bash splits words at '=', so --sim=a arrives as three words. */
        printf("'\n        COMPREPLY=()\n"
               "        [ \"$word\" = = ] && word=\n"
               "        [ \"$previous\" = = ] && previous=${COMP_WORDS[COMP_CWORD-2]}\n"
               "        if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
               "                COMPREPLY=($(compgen -W '");
        print_words("");
        printf("--help --version' -- \"$word\"))\n                return\n        fi\n");
        for (size_t i = 0; i < command_count(); i++) {
                if (new_group(i))
                        print_group(new_group(i));
        }
        printf("        case \"$command\" in\n");
        for (size_t i = 0; i < command_count(); i++)
                print_command(command_at(i));
        printf("        esac\n"
               "        case \"$word\" in\n"
               "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
               "        *) [ \"$command\" = run ] && COMPREPLY=($(compgen -c -f -- \"$word\"))\n"
               "           [ \"$command\" = set ] &&\n"
               "                COMPREPLY=($(compgen -W \"$(vgpu ps 2>/dev/null | sed 1d | cut "
               "-f1)\" "
               "-- \"$word\"))\n"
               "           [ \"$command\" = completion ] && COMPREPLY=(bash) ;;\n"
               "        esac\n}\ncomplete -o default -F _vgpu vgpu\n");
}

int command_completion(const struct command *command, int argc, char **argv)
{
        struct scan scan;
        int option;

        scan_init(&scan, command, argc, argv);
        option = scan_next(&scan);
        if (option == SCAN_BAD || option == SCAN_HELP)
                return scan_exit(&scan, option);
        if (option != SCAN_WORD || strcmp(scan.value, "bash") != 0)
                return complain(EXIT_USAGE, "for which shell? Only bash is known: "
                                            "vgpu completion bash");
        option = scan_next(&scan);
        if (option != SCAN_END)
                return option == SCAN_WORD ? complain(EXIT_USAGE, "'%s bash' takes no '%s'",
                                                      scan.program, scan.value)
                                           : scan_exit(&scan, option);
        print_script();
        return EXIT_OK;
}
