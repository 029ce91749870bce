/* SPDX-License-Identifier: Apache-2.0 */
/* pod_identity: which container of which pod this is, as the CRI wrote it into the configuration. */
#pragma once

#include "spec.h"

enum pod_identity_kind {
        POD_IDENTITY_NONE,      /* not of Kubernetes */
        POD_IDENTITY_SANDBOX,   /* the pod's own, which runs nothing of the user's */
        POD_IDENTITY_CONTAINER, /* named below */
        POD_IDENTITY_VAGUE,     /* a container of a pod, but the CRI does not say which */
};

struct pod_identity {
        enum pod_identity_kind kind;
        const char *pod_uid, *pod_namespace, *pod, *container; /* the spec's */
};

struct pod_identity pod_identity_of(const struct spec *spec);
