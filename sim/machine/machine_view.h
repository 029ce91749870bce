/* SPDX-License-Identifier: Apache-2.0 */
/* machine_view: a machine's figures for those who only read. The file is read, never mapped and never
 * locked: it may be another user's, who can write anything into it and cut it short at any moment. */
#pragma once

#include <stdbool.h>

#include "machine.h"

struct machine_view {
        int fd;
        struct machine_header *header; /* a copy: texts can be printed, counts are in bounds */
};

/* As machine_open() fails. The caller closes it. */
int machine_view_open(const char *path, struct machine_view *ret_view, struct err *e);
void machine_view_close(struct machine_view *view);

/* A copy of the slot; false: no living process has it. */
bool machine_view_slot(const struct machine_view *view, uint32_t index,
                       struct machine_slot *ret_slot);

/* How many living processes have one. */
unsigned machine_view_users(const struct machine_view *view);

/* Busy part of a unit's compute engine in the last second, 0…1, as far as its processes moved its clock. */
double machine_view_load(const struct machine_view *view, unsigned unit);
/* The same of one process's work on a unit, by the channel that its slot names. */
double machine_view_channel_load(const struct machine_view *view, uint32_t channel);
