/* SPDX-License-Identifier: Apache-2.0 */
/* standalone: a share for a container without Kubernetes and without an agent: the limits are in
 * its own environment, as its user gave them (`docker run -e VGPU_MEMORY_LIMIT=2g`). */
#pragma once

#include "err.h"
#include "runtime_options.h"
#include "spec.h"
#include "str.h"
#include "vgpu.pb-c.h"

/* What a container is given, in the form of vgpu-node's answer. */
struct standalone {
        Vgpu__V1__GetAllocationResponse answer;
        Vgpu__V1__Mount mounts[7], *mount_list[7];
        Vgpu__V1__Variable variables[3], *variable_list[3];
        char share[4096], region[4096], grant[4096], want[4096], registry[4096];
        struct str uuids;
        struct err warning; /* text: of limits that limit nothing; "": none */
        char *driver;       /* the simulated one, if the options name none */
};

/* 1: the environment sets limits; 0: it sets none, or wants no GPU; -EINVAL: it says something that means
 * nothing, or wants no GPU where there is one (`request`, see gpu_request_detect.h; NULL: none). A variable that nobody reads
 * is noted in spec->left_out. */
int standalone_is_wanted(struct spec *spec, const char *request, struct err *e);

/* For a container that gets no share. -EINVAL: it is privileged, so that nobody keeps it from the GPUs, and its
 * environment sets a limit, or something that means nothing. */
int standalone_privileged_check(const struct spec *spec, struct err *e);

/* Makes share and region in the folder. The result points into itself and into the options. */
int standalone_make(const struct spec *spec, const struct runtime_options *options,
                    const char *folder, const char *name, struct standalone *ret_standalone,
                    struct err *e);
void standalone_done(struct standalone *standalone);
