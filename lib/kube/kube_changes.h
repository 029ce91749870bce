/* SPDX-License-Identifier: Apache-2.0 */
/* kube_changes: objects as they are, in lists and events, turned into what changed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube_known.h"

enum kube_change { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED };

/* Zeroed, with the callback. */
struct kube_changes {
        void (*on_change)(void *owner, enum kube_change change, const struct kube_name *name,
                          const json_t *object);
        void *owner;
        bool is_muted; /* nothing is told any more */

        struct kube_known known;
        unsigned round;  /* of listing */
        unsigned doubts; /* counts */
};

/* A list begins; at its end kube_changes_sweep() tells what was not in it. */
void kube_changes_begin(struct kube_changes *changes);
void kube_changes_sweep(struct kube_changes *changes);

/* An object as it is now, or as it was last. -EPROTO: no object; -ENOMEM. */
int kube_changes_note(struct kube_changes *changes, const json_t *object);
int kube_changes_delete(struct kube_changes *changes, const json_t *object);

/* An object of which no more is known than its name: it is there still, as it was last told, or it is gone. */
void kube_changes_keep(struct kube_changes *changes, const struct kube_name *name);
void kube_changes_drop(struct kube_changes *changes, const struct kube_name *name);

/* Whatever is told of next is told as changed. */
void kube_changes_doubt(struct kube_changes *changes);
void kube_changes_done(struct kube_changes *changes);
