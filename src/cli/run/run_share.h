/* SPDX-License-Identifier: Apache-2.0 */
/* The share of a program under `vgpu run --memory` or `--cores`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "share_compute.h"
#include "share_layout.h"
#include "share_memory.h"

struct run_limits {
        struct share_memory memory;
        struct share_compute compute;
        const char *name; /* NULL: made from the program's */
        bool has_context; /* --context-memory was given */
        bool is_context_exempt;
};

/* True: the program runs under a share. */
bool run_share_is_wanted(const struct run_limits *limits);
/* 0, or why these limits cannot be. Nothing has been made yet. */
int run_share_check(const struct run_limits *limits, struct err *e);

/* Puts libvgpu.so before the program. */
int run_share_preload(struct err *e);

/* Makes or joins the share on the machine's GPUs (NULL: the real ones) and puts it into the
 * environment. */
int run_share_take(const struct run_limits *limits, const char *machine_path, const char *program,
                   char ret_path[SHARE_TEXT], struct err *e);
