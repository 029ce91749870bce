/* SPDX-License-Identifier: Apache-2.0 */
/* choice: what a pod's annotations choose of scheduling and compute. One row per choice: the annotations that
 * make it, and the values that it takes. */
#pragma once

#include <stdbool.h>

#include "err.h"

enum choice {
        CHOICE_NODE_POLICY,   /* enum placement_policy, of nodes */
        CHOICE_DEVICE_POLICY, /* enum placement_policy, of the GPUs of a node */
        CHOICE_TOPOLOGY,      /* enum placement_topology */
        CHOICE_CORES_POLICY,  /* how compute is held; its value is the text */
        CHOICE_USE_TYPES,
        CHOICE_AVOID_TYPES,
        CHOICE_USE_UUIDS,
        CHOICE_AVOID_UUIDS,
        CHOICES,
};

enum { CHOICE_ANNOTATIONS = 4 };

struct choice_value {
        const char *text;
        int value;
};

struct choice_row {
        /* Up to NULL, ours first. Of several that a pod carries, the first holds. */
        const char *annotations[CHOICE_ANNOTATIONS];
        const struct choice_value *values; /* up to a text of NULL; NULL: any text */
};

extern const struct choice_row choice_rows[CHOICES];

/* The choice that an annotation makes; false: none of these. */
bool choice_find(const char *annotation, enum choice *ret_choice);

/* -EINVAL: it does not take this value; the sentence lists those it takes. A choice that takes any text
 * takes no empty one, and its value is 0. */
int choice_parse(enum choice choice, const char *text, int *ret_value, struct err *e);
