/* SPDX-License-Identifier: Apache-2.0 */
/* pod_peak: what the containers of a pod take together at the pod's peak. Pure.
 *
 * Applications and sidecars run at the same time: they add up. An init container runs beside the
 * sidecars before it alone, so the applications may have its part afterwards. This file is the only one
 * that knows the rule. */
#pragma once

#include <stdint.h>

/* When in its pod's life a container runs. Shares store the value: never renumber. */
enum pod_phase {
        POD_APP = 0,
        POD_SIDECAR = 1, /* begins among the init containers, and goes on */
        POD_INIT = 2,    /* ends before the applications begin */
};

/* Of one figure in one unit: memory, cores or slots of a GPU. Zeroed: a pod without containers. */
struct pod_peak {
        uint64_t lasting;  /* of applications and sidecars */
        uint64_t sidecars; /* of those so far: what an init container that comes next runs beside */
        uint64_t init;     /* the highest while an init container runs */
};

/* Counts a container. They come in the order of the pod. */
void pod_peak_add(struct pod_peak *peak, enum pod_phase phase, uint64_t figure);
uint64_t pod_peak_of(const struct pod_peak *peak);
