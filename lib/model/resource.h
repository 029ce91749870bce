/* SPDX-License-Identifier: Apache-2.0 */
/* The resource names by which a pod asks for GPUs. Each alias is one row. */
#pragma once

#include <stddef.h>

#include "err.h"
#include "mig_profile.h"

/* What a resource says. Memory and cores are of each GPU. */
enum resource_kind {
        RESOURCE_COUNT,          /* how many distinct GPUs      */
        RESOURCE_MEMORY,         /* MiB; of nvidia.com/vgpu-memory times the node's memory factor */
        RESOURCE_MEMORY_PERCENT, /* of the GPU's */
        RESOURCE_CORES,          /* percent of the GPU's time; 0: no limit, 100: the whole GPU */
        RESOURCE_PRIORITY,       /* 0 high, 1 low */
        RESOURCE_MIG,            /* how many instances of a profile */
        RESOURCE_MEMORY_UNITS,   /* GB, for queues */
        RESOURCE_KINDS,
};

/* Names that belong together: what is left out is added under a name of the same family. */
enum resource_family {
        RESOURCE_NUMBERED, /* nvidia.com/vgpu-number … */
        RESOURCE_PLAIN,    /* nvidia.com/vgpu, nvidia.com/gpumem … */
        RESOURCE_VOLCANO,  /* volcano.sh/vgpu-number … */
        RESOURCE_SLICED,   /* nvidia.com/mig-…, mig.das.com/…, gpu.das.com/mem */
        RESOURCE_FAMILIES,
};

struct resource {
        enum resource_kind kind;
        enum resource_family family;
        const char *name;           /* of the row; NULL: a profile's */
        struct mig_profile profile; /* RESOURCE_MIG */
};

struct resource_row {
        const char *name;
        enum resource_kind kind;
        enum resource_family family;
        bool is_optional; /* ours only where the operator says so */
};

extern struct resource_row resource_rows[]; /* read them; see resource_use_domain() */
extern const size_t resource_row_count;

/* false: the name is not one of vgpu's. `with_optional` includes nvidia.com/gpu. */
bool resource_find(const char *name, bool with_optional, struct resource *ret_resource);
/* Resource names begin with this domain from now on, instead of nvidia.com. Call it once, before all other
 * functions. -EINVAL: not a domain. */
int resource_use_domain(const char *domain, struct err *e);

/* The family's name for a kind; NULL: it has none. */
const char *resource_name(enum resource_family family, enum resource_kind kind);
/* What stands before a profile: "nvidia.com/mig-". */
const char *resource_mig_prefix(void);
