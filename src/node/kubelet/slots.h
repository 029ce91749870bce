/* SPDX-License-Identifier: Apache-2.0 */
/* slots: what kubelet counts of one resource: ids and their health. A vGPU's slot is on no GPU in
 * particular (the scheduler chose the GPU, and kubelet's choice of a slot must not contradict it); a GB
 * of memory belongs to a GPU; a MIG device is itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "deviceplugin.pb-c.h"

enum { SLOT_ID_BYTES = 64 }; /* kubelet's limit: 63 characters */

struct slot_group {
        char name[SLOT_ID_BYTES - 12]; /* what its ids begin with; a number follows */
        unsigned count;                /* ids are name0 …; 0: one, whose id is the name */
        unsigned healthy;              /* the first so many */
        int numa;                      /* −1: on no GPU in particular */
};

struct slots {
        struct slot_group *groups;
        unsigned group_count;
};

/* Adds a group at the end; -ENOMEM. */
int slots_add(struct slots *slots, const char *name, unsigned count, unsigned healthy, int numa);
int slots_copy(const struct slots *from, struct slots *ret_slots);
void slots_done(struct slots *slots); /* zeroed is fine */
bool slots_is_equal(const struct slots *a, const struct slots *b);
unsigned slots_count(const struct slots *slots);
unsigned slots_healthy(const struct slots *slots);

/* Is it an id of ours? */
bool slots_has(const struct slots *slots, const char *id);

/* The whole list, as kubelet wants it each time. Freed with slots_list_free(); NULL: out of memory. */
V1beta1__ListAndWatchResponse *slots_list(const struct slots *slots);
void slots_list_free(V1beta1__ListAndWatchResponse *list);
