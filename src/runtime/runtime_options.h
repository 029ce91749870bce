/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_options: how vgpu-runtime is set up on this node: /etc/vgpu/runtime.conf, one option per
 * line. An OCI runtime's command line is its caller's, so they cannot be there. */
#pragma once

#include "err.h"

#define RUNTIME_OPTIONS_PATH "/etc/vgpu/runtime.conf"

struct runtime_options {
        const char *runtime; /* name or path; NULL: runc, else crun */
        const char *socket;  /* of vgpu-node */
        const char *state;   /* folder for what containers are given */
        const char *library; /* libvgpu.so; NULL: beside this program */
        const char *machine; /* of the simulated GPUs; NULL: real ones */
        const char *driver;  /* folder of the simulated driver; NULL: beside this program */
        unsigned wait_ms;    /* for vgpu-node */
        char *text;          /* what the others point into */
};

/* Fills in the defaults and what the file says. On failure what was read before the mistake holds,
 * so that containers that run can still be stopped. */
int runtime_options_read(struct runtime_options *ret_options, struct err *e);
void runtime_options_done(struct runtime_options *options);
/* One line per option, on stdout. */
void runtime_options_print(void);

/* Where the file is: VGPU_RUNTIME_CONF, else RUNTIME_OPTIONS_PATH. */
const char *runtime_options_path(void);
