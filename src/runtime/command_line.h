/* SPDX-License-Identifier: Apache-2.0 */
/* command_line: what an OCI runtime is told to do, as far as it concerns us. */
#pragma once

#include <stdbool.h>

struct command_line {
        const char *command; /* "create"; NULL: none that is known */
        const char *bundle;  /* the folder of config.json; "." if not said */
        const char *config;  /* another file instead of it (crun); usually NULL */
        const char *root;    /* where the runtime keeps its state; "" if not said */
        const char *log;     /* NULL: none */
        bool is_log_json;
        const char *process; /* the file of what `exec` starts; NULL: none */
        const char *id;      /* the container's; NULL: not said */
};

/* Texts point into argv. Options that are not known are no mistake: the real runtime judges them. */
struct command_line command_line_read(int argc, char *const *argv);

/* Does it start a container from a bundle? */
bool command_line_starts(const struct command_line *line);
bool command_line_deletes(const struct command_line *line);
