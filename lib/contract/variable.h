/* SPDX-License-Identifier: Apache-2.0 */
/* Names in an environment: whose is this variable, or whose was it meant to be? */
#pragma once

#include <stdint.h>

#include "err.h"

enum variable_kind {
        VARIABLE_FOREIGN,  /* not ours, or injected for a Service of Kubernetes */
        VARIABLE_READ,     /* a setting, or read by one of our programs */
        VARIABLE_UNKNOWN,  /* begins with VGPU_, or would but for its first letter, and nobody reads it */
        VARIABLE_MISSPELT, /* close to a limit's name, and nobody reads it */
};

enum { VARIABLE_NAME = 64, VARIABLE_TEXT = 224 };

/* Judges "NAME" or "NAME=value". ret_meant: the name that it was meant to be; "": nothing is near. */
enum variable_kind variable_judge(const char *variable, char ret_meant[VARIABLE_NAME]);

/* What one walk through the environment (setting_variables) finds. */
struct variable_names {
        uint64_t numbers;                  /* bit i: some setting's name has the number i */
        unsigned unknown;                  /* variables nobody reads */
        char unknown_first[VARIABLE_NAME]; /* and one of them */
        char unknown_meant[VARIABLE_NAME];
        struct err
                rivals; /* two names of one setting that differ (setting_rival.h); no text: none do */
};

/* -EINVAL: a name is close to a limit's and nobody reads it, or its number is beyond all GPUs. The sentence
 * has the name, and the right one. */
int variable_walk(struct variable_names *ret_names, struct err *e);

/* "unknown variable 'VGPU_FOO' (did you mean …?), and 2 more" */
void variable_unknown_text(const struct variable_names *names, char text[static VARIABLE_TEXT]);
