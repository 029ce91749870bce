/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of vgpu, as rows: dispatch, help, manual check and completion all read them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli_option.h"
#include "cluster_options.h"

/* vgpu's own exit codes. 125…127 as env(1), nohup(1) and timeout(1) use them. */
enum {
        EXIT_OK = 0,
        EXIT_FAILED = 1,
        EXIT_USAGE = 2,
        EXIT_RUN_FAILED = 125,
        EXIT_RUN_NOT_EXECUTABLE = 126,
        EXIT_RUN_NOT_FOUND = 127,
};

struct command {
        const char *name;  /* one word, or two: "sim create" */
        const char *usage; /* the words that are not options */
        const char *summary;
        const struct cli_option *options;
        int (*run)(const struct command *command, int argc, char **argv);
        const char *details; /* further paragraphs of its help, or NULL */
        int usage_exit;      /* for bad options; 0: EXIT_USAGE */
        /* What completion offers for its words: "share", "program", "file", "action", "command", or
         * words. NULL: nothing. */
        const char *completion;
};

size_t command_count(void);
const struct command *command_at(size_t index);

/* The command that the first one or two words name; *ret_words says how many. NULL: none. */
const struct command *command_find(int argc, char *const *argv, int *ret_count);
/* True for a first word of two-word commands: "sim". */
bool command_is_group(const char *word);
/* The first word of a two-word command's name; "": it has one word. */
const char *command_group(const char *name);
/* The group's name; NULL: there are no more. */
const char *command_group_at(size_t index);

/* An action of 'sim inject', and what completion offers for the words that follow it: "function",
 * words, or NULL. False: there are no more. */
struct command_action {
        const char *name;
        const char *completion[2];
};
bool command_action_at(size_t index, struct command_action *ret_action);
/* The names of the functions that it knows, a line each. */
void command_action_print_functions(void);

int command_run(const struct command *command, int argc, char **argv);
int command_set(const struct command *command, int argc, char **argv);
int command_ps(const struct command *command, int argc, char **argv);
int command_top(const struct command *command, int argc, char **argv);
int command_doctor(const struct command *command, int argc, char **argv);
int command_help(const struct command *command, int argc, char **argv);
int command_completion(const struct command *command, int argc, char **argv);
int command_version(const struct command *command, int argc, char **argv);
int command_sim_create(const struct command *command, int argc, char **argv);
int command_sim_list(const struct command *command, int argc, char **argv);
int command_sim_show(const struct command *command, int argc, char **argv);
int command_sim_stat(const struct command *command, int argc, char **argv);
int command_sim_inject(const struct command *command, int argc, char **argv);
int command_sim_destroy(const struct command *command, int argc, char **argv);
/* Those that ask the API server: vgpu-cluster takes over. */
int command_cluster(const struct command *command, int argc, char **argv);

extern const struct cli_option run_options[], set_options[], ps_options[], top_options[],
        doctor_options[], help_options[], completion_options[], sim_create_options[],
        sim_list_options[], sim_show_options[], sim_stat_options[], sim_inject_options[],
        sim_destroy_options[];

/* Help texts: of vgpu, of a group of commands, of one command. */
void help_print(void);
void help_print_group(const char *group);
void help_print_command(const struct command *command);

/* "vgpu: " and a sentence on stderr; returns exit_code, for `return complain(…)`. */
int complain(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The sentence for a word that names no command, with the nearest one. */
int complain_unknown_command(const char *group, const char *word);
