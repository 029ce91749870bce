/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands ask for alike: a machine, kernel times. */
#pragma once

#include "command.h"
#include "err.h"
#include "machine.h"
#include "machine_view.h"
#include "vec.h"

/* The path given, else VGPU_SIM's; NULL after saying that there is none. */
const char *machine_option_path(const char *path);

/* Opens the machine of machine_option_path(), as machine_open_own() does. The exit code: EXIT_OK, another after saying why not. */
int machine_option_open(const char *path, struct machine *ret_machine);

/* The options of a command on one machine: "--machine PATH", or PATH alone, and flags by their rows.
 * True: it goes on, the path may be NULL; false: it exits with this code. */
bool machine_option_parse(const struct command *command, int argc, char **argv, bool *flags,
                          const char **ret_path, int *ret_exit);
/* The same, and opens it. */
bool machine_option_begin(const struct command *command, int argc, char **argv, bool *flags,
                          struct machine *ret_machine, int *ret_exit);

/* The same, to be looked at: it may be anybody's. */
bool machine_option_begin_view(const struct command *command, int argc, char **argv, bool *flags,
                               struct machine_view *ret_view, int *ret_exit);

/* Adds "NAME=MICROSECONDS" to a vec of struct machine_kernel_time. Cuts the text at the '='. */
int machine_option_kernel(char *text, struct vec *kernels, struct err *e);

/* Makes the kernels of an existing machine take these times from now on. */
int machine_option_set_kernels(struct machine *machine, const struct vec *kernels, struct err *e);

/* Processes that are attached to the machine now, after freeing what the dead held. */
unsigned machine_option_users(struct machine *machine);

/* The sentence for a preset that does not exist, with the nearest one. */
int machine_option_check_preset(const char *preset, struct err *e);

/* "0" … : a GPU of the machine by index or UUID. */
int machine_option_gpu(const struct machine *machine, const char *text, unsigned *ret_gpu,
                       struct err *e);
