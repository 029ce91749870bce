/* SPDX-License-Identifier: Apache-2.0 */
/* What one container asks for: its resources, read by the rules that all families share.
 *
 *   N GPUs are distinct; memory and cores are of each.
 *   Only memory or cores: one GPU. Only a number: whole GPUs. No memory: all the GPU's memory.
 *   cores 100 is the whole GPU alone; cores 0 is no limit of compute. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "resource.h"

enum { REQUEST_PROFILES = 8 };

struct request {
        enum resource_family family; /* of the count, else of what was given first */
        /* By kind. Memory is either of two, the other is 0; of profiles see below. */
        uint64_t values[RESOURCE_KINDS];
        struct {
                struct mig_profile profile;
                uint64_t count;
        } profiles[REQUEST_PROFILES];
        unsigned profile_count;
        unsigned given;                    /* bit per enum resource_kind: what the container said */
        const char *names[RESOURCE_KINDS]; /* under which name; none for profiles */
};

/* Takes one resource in. -EINVAL: the amount cannot be, or another resource has said otherwise. An
 * amount said twice (two aliases, the same value) is no error. Amounts of one profile add up. */
int request_add(struct request *request, const struct resource *resource, int64_t amount,
                struct err *e);
/* Adds what the rules say of the rest; -EINVAL: it cannot be. */
int request_complete(struct request *request, struct err *e);

static inline bool request_has(const struct request *request, enum resource_kind kind)
{
        return request->given & 1u << kind;
}
/* Nothing of ours is asked for. */
static inline bool request_is_empty(const struct request *request)
{
        return request->given == 0;
}
/* Is its memory in units of the node's memory factor? */
bool request_is_in_units(const struct request *request);
/* GB that the profiles come to; -ERANGE. */
int request_profile_gb(const struct request *request, uint64_t *ret_gb, struct err *e);
