/* SPDX-License-Identifier: Apache-2.0 */
/* mig_starts: MIG devices whose container is about to start (PreStartContainer). kubelet hands the devices of an
 * init container on to the containers that follow, and lists only these (pod-resources): of an init container it
 * is known by its start alone which devices it has, and by the list whose they are. Pure: time is a parameter. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "podresources.pb-c.h"
#include "vec.h"

/* So long a start is remembered: a container is created within it, or kubelet says again that it starts. */
#define MIG_START_NS UINT64_C(60000000000)

struct mig_starts {
        struct vec items; /* of struct mig_start, the oldest first */
        uint64_t calls;
};

struct mig_start {     /* of one device */
        uint64_t call; /* those of one have one number */
        uint64_t since_ns;
        char resource[128], id[64];
};

void mig_starts_init(struct mig_starts *starts);
void mig_starts_done(struct mig_starts *starts);

/* kubelet is about to start a container with these devices, of one resource. */
void mig_starts_note(struct mig_starts *starts, const char *resource, char *const *ids,
                     size_t id_count, uint64_t now_ns);
/* A container with this device has started. */
void mig_starts_forget(struct mig_starts *starts, const char *id);

/* Calls it for each device of the containers of this pod that are about to start: those of a call, if the list has
 * one of them under the pod. */
void mig_starts_each(const struct mig_starts *starts, const V1__ListPodResourcesResponse *list,
                     const char *pod_namespace, const char *pod, uint64_t now_ns,
                     void (*visit)(void *owner, const char *id), void *owner);
