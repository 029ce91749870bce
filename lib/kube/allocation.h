/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation: what the scheduler decided for a pod, as it stands in the pod's annotation; set by the
 * Binding, so that decision and node are one write. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "vec.h"

#define ALLOCATION_ANNOTATION "vgpu.io/allocation"

enum { ALLOCATION_VERSION = 1, ALLOCATION_UUID = 96, ALLOCATION_NAME = 64 };

/* One container's part of one GPU. */
struct allocation_part {
        char container[ALLOCATION_NAME];
        char uuid[ALLOCATION_UUID];
        uint64_t memory_mib; /* as registered: virtual memory included */
        uint32_t cores;      /* percent; 0: no limit, 100: the whole GPU */
};

struct allocation {
        char pod_uid[64]; /* an annotation that was copied to another pod is no decision for it */
        char node[256];
        struct vec parts; /* of struct allocation_part, container by container */
};

/* NULL: out of memory. The text is the caller's. */
char *allocation_format(const struct allocation *allocation);
/* -EPROTO: no allocation of this release, or damaged. The caller calls allocation_done(). */
int allocation_parse(const char *text, struct allocation *ret_allocation, struct err *e);
void allocation_done(struct allocation *allocation);
