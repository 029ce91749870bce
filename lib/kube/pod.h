/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of a pod and the choices of its annotations, as JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "choice.h"
#include "pod_peak.h"

enum { POD_POINTER = 512 };

/* Zeroed but for `spec` and `path`, its JSON pointer: init containers first (sidecars are among them), then
 * containers. Ephemeral ones cannot have resources. */
struct pod_walk {
        json_t *spec;
        const char *path;
        unsigned list;
        size_t next;
        json_t *container;
        enum pod_phase phase;
        char pointer[POD_POINTER];
};

bool pod_walk_next(struct pod_walk *walk);

/* Made by another object that stands for it (a ReplicaSet, a Job): metadata.ownerReferences. */
bool pod_has_controller(const json_t *object);

/* The text of the annotation that makes the choice; NULL: the pod has none. *ret_annotation, unless NULL, is the
 * annotation's name. */
const char *pod_choice(const json_t *pod, enum choice choice, const char **ret_annotation);
