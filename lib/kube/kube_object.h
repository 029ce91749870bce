/* SPDX-License-Identifier: Apache-2.0 */
/* kube_object: the text of one object, or event, made a tree; and as much as can be seen of one that cannot. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* The tree. What JSON or its reader cannot hold is read as something else (json_tame.h); *ret_is_tamed
 * says so. NULL: it cannot be read even so, and e says why. text[count] is NUL. */
json_t *kube_object_load(const char *text, size_t count, bool *ret_is_tamed, struct err *e);

/* Empty: not seen. */
struct kube_glimpse {
        char type[16]; /* of an event */
        char namespace_name[64], name[256], uid[64];
        char version[64];
};

/* Who it is, of text that may be anything and may be cut short. */
void kube_object_glimpse(const char *text, size_t count, bool is_event,
                         struct kube_glimpse *ret_glimpse);
