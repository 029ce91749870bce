/* SPDX-License-Identifier: Apache-2.0 */
/* spec_inject: puts a share into config.json: what the answer of vgpu-node says, and what makes it hold. */
#pragma once

#include "err.h"
#include "pod_identity.h"
#include "runtime_options.h"
#include "vgpu.pb-c.h"

struct spec_inject {
        struct spec *spec;
        const char *bundle;
        const char *folder;                  /* of the container, see container_folder.h */
        const char *library;                 /* libvgpu.so on the host */
        const struct pod_identity *identity; /* whom the share must be for; NULL: anybody */
        const Vgpu__V1__GetAllocationResponse *answer;
};

/* Changes the spec. -EBADMSG: the answer cannot be right; -EPERM: the container is in the way. */
int spec_inject_share(const struct spec_inject *inject, struct err *e);

/* Takes every GPU out of the container. */
int spec_inject_nothing(struct spec *spec, struct err *e);
