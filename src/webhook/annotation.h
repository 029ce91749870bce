/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations on pods: which a user may write, and what may stand in them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define ANNOTATION_CONTAINER_UUIDS "vgpu.io/container-uuids"
#define ANNOTATION_SEAL            "vgpu.io/container-uuids-seal"

/* Written by our programs (or by a scheduler whose decision we honour), never by a user. */
bool annotation_is_reserved(const char *name);
/* Of those, the ones that Volcano's scheduler writes. */
bool annotation_is_of_volcano(const char *name);
/* A ceiling of resizing: a user's at CREATE, nobody's afterwards. */
bool annotation_is_ceiling(const char *name);

/* 0, or -EINVAL: the value cannot be; unknown annotations are not ours to judge. */
int annotation_check(const char *name, const json_t *value, struct err *e);

/* What `vgpu.io/memory` and `vgpu.io/cores` ask for must lie within their ceilings; without one,
 * within what the pod's containers asked for at first (0: they did not say). */
int annotation_check_resize(const json_t *annotations, uint64_t requested_bytes,
                            unsigned requested_cores, struct err *e);
