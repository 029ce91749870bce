/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of `vgpu top` a screen of some width has, and how wide they are. Pure. */
#pragma once

#include <stdbool.h>

enum {
        TOP_MEMORY_CELLS = 12, /* "123.4/180.0G" */
        TOP_CORES_CELLS = 12,  /* "61.0/30-100%" */
        TOP_WIDE = 120,        /* from here on every program and pid is shown */
};

/* The widest of each that there is to show. */
struct top_need {
        unsigned name, user, pid, program; /* user 0: there is but one */
};

/* Widths of columns in this order, 0: not shown. Between two there is one blank. */
struct top_layout {
        unsigned columns;
        unsigned name, user, pid, program;
        unsigned bar; /* of memory and of cores alike, without its brackets; 0: none */
        bool has_memory, has_cores;
        unsigned past;
};

struct top_layout top_layout_make(unsigned columns, const struct top_need *need);

/* Where columns begin. */
unsigned top_layout_user(const struct top_layout *layout);
unsigned top_layout_pid(const struct top_layout *layout);
unsigned top_layout_program(const struct top_layout *layout);
unsigned top_layout_memory(const struct top_layout *layout);
unsigned top_layout_cores(const struct top_layout *layout);
unsigned top_layout_past(const struct top_layout *layout);
