/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of vgpu-cluster, which vgpu runs for those that ask the API server. */
#pragma once

#include "cli_option.h"
#include "err.h"

struct cluster_command {
        const char *name; /* as vgpu has it: "kueue config" */
        const struct cli_option *options;
        int (*run)(const struct cluster_command *command, int argc, char **argv);
};

enum { CLUSTER_OK, CLUSTER_FAILED, CLUSTER_USAGE };

int cluster_explain_pod(const struct cluster_command *command, int argc, char **argv);
int cluster_kueue_config(const struct cluster_command *command, int argc, char **argv);
int cluster_kueue_check(const struct cluster_command *command, int argc, char **argv);

/* "vgpu: " and a sentence on stderr; returns exit_code. */
int cluster_complain(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The value of --OPTION, if the API server would take it for a name: anything else would be another path. */
int cluster_name_take(const char *option, const char *text, const char **ret_name, struct err *e);
