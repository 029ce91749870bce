/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `vgpu doctor` share. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "json_out.h"

enum verdict { VERDICT_OK, VERDICT_NOTE, VERDICT_WRONG };

struct doctor {
        struct json_out json;
        bool is_json;
        unsigned wrong;
        const char *subject; /* of the check at work */
};

/* One finding: a sentence, and how to fix what is wrong (NULL: nothing to do). */
void doctor_say(struct doctor *doctor, enum verdict verdict, const char *fix, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* /etc/ld.so.preload; what a container is given; how its processes are told from others. */
void doctor_preload(struct doctor *doctor);
void doctor_container(struct doctor *doctor);
void doctor_processes(struct doctor *doctor);

/* Could libvgpu.so use this region? It is left as it is: who may write to it may be somebody else. */
int doctor_region_try(const char *path, struct err *e);

/* kubelet, vgpu-node and the container engine of a Kubernetes node. */
void doctor_node(struct doctor *doctor);

/* The values of VGPU_… and of the names that are understood in their place. */
void doctor_environment(struct doctor *doctor);
