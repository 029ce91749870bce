/* SPDX-License-Identifier: Apache-2.0 */
/* What one container asks for. */
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What an amount may be. */
static const struct {
        int64_t least, most;
} bounds[RESOURCE_KINDS] = {
        [RESOURCE_COUNT] = { 0, 64 },
        [RESOURCE_MEMORY] = { 0, INT64_C(1) << 40 },
        [RESOURCE_MEMORY_PERCENT] = { 0, 100 },
        [RESOURCE_CORES] = { 0, 100 },
        [RESOURCE_PRIORITY] = { 0, 1 },
        [RESOURCE_MIG] = { 0, 1024 },
        [RESOURCE_MEMORY_UNITS] = { 0, INT64_MAX },
};

static int bounds_check(const struct resource *resource, int64_t amount, struct err *e)
{
        const int64_t least = bounds[resource->kind].least, most = bounds[resource->kind].most;
        char profile[MIG_PROFILE_TEXT] = "";

        if (amount >= least && amount <= most)
                return 0;
        if (!resource->name)
                mig_profile_format(&resource->profile, MIG_SPELLING_DOT, profile);
        return err_set(e, -EINVAL, "%s%s: %" PRId64 " is not between %" PRId64 " and %" PRId64,
                       resource->name ? resource->name : "mig-", profile, amount, least, most);
}

static int profile_add(struct request *request, const struct resource *resource, int64_t amount,
                       struct err *e)
{
        unsigned i = 0;

        while (i < request->profile_count &&
               !mig_profile_is_equal(&request->profiles[i].profile, &resource->profile))
                i++;
        if (i == REQUEST_PROFILES)
                return err_set(e, -EINVAL, "more than %d MIG profiles in one container",
                               REQUEST_PROFILES);
        if (i == request->profile_count)
                request->profiles[request->profile_count++].profile = resource->profile;
        request->profiles[i].count += (uint64_t)amount;
        return 0;
}

int request_add(struct request *request, const struct resource *resource, int64_t amount,
                struct err *e)
{
        const enum resource_kind kind = resource->kind;
        const int r = bounds_check(resource, amount, e);

        if (r < 0)
                return r;
        if (kind == RESOURCE_MIG && amount > 0) {
                request->given |= 1u << kind;
                return profile_add(request, resource, amount, e);
        }
        if (kind == RESOURCE_MIG)
                return 0;
        if (request_has(request, kind)) {
                if (request->values[kind] == (uint64_t)amount)
                        return 0;
                return err_set(e, -EINVAL, "%s says %" PRIu64 " and %s says %" PRId64,
                               request->names[kind], request->values[kind], resource->name, amount);
        }
        if (request->given == 0 || kind == RESOURCE_COUNT)
                request->family = resource->family;
        request->given |= 1u << kind;
        request->names[kind] = resource->name;
        request->values[kind] = (uint64_t)amount;
        return 0;
}

/* Shares of GPUs and slices of GPUs are made by different hands: one container has one of them. */
static int slices_check(const struct request *request, struct err *e)
{
        const bool has_share = request_has(request, RESOURCE_COUNT) ||
                               request_has(request, RESOURCE_MEMORY) ||
                               request_has(request, RESOURCE_MEMORY_PERCENT) ||
                               request_has(request, RESOURCE_CORES);

        if (!request_has(request, RESOURCE_MIG) || !has_share)
                return 0;
        return err_set(e, -EINVAL,
                       "one container cannot request both MIG instances and shares of a GPU");
}

int request_complete(struct request *request, struct err *e)
{
        uint64_t *values = request->values;
        const bool has_memory = values[RESOURCE_MEMORY] || values[RESOURCE_MEMORY_PERCENT];
        const bool has_size = request_has(request, RESOURCE_MEMORY) ||
                              request_has(request, RESOURCE_MEMORY_PERCENT) ||
                              request_has(request, RESOURCE_CORES);
        const int r = slices_check(request, e);

        if (r < 0)
                return r;
        if (values[RESOURCE_MEMORY] && values[RESOURCE_MEMORY_PERCENT])
                return err_set(e, -EINVAL, "%s and %s cannot both size the memory",
                               request->names[RESOURCE_MEMORY],
                               request->names[RESOURCE_MEMORY_PERCENT]);
        if (!request_has(request, RESOURCE_COUNT))
                values[RESOURCE_COUNT] = has_size ? 1 : 0;
        if (values[RESOURCE_COUNT] == 0) {
                if (!has_memory && !values[RESOURCE_CORES])
                        return 0;
                return err_set(e, -EINVAL, "%s is 0, but memory or cores are requested",
                               request->names[RESOURCE_COUNT]);
        }
        if (!has_size)
                values[RESOURCE_CORES] = 100;
        if (!has_memory)
                values[RESOURCE_MEMORY_PERCENT] = 100;
        return 0;
}

bool request_is_in_units(const struct request *request)
{
        const char *name = request->names[RESOURCE_MEMORY];

        return name && strcmp(name, resource_name(RESOURCE_NUMBERED, RESOURCE_MEMORY)) == 0;
}

int request_profile_gb(const struct request *request, uint64_t *ret_gb, struct err *e)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < request->profile_count; i++) {
                uint64_t part;

                if (__builtin_mul_overflow(request->profiles[i].count,
                                           (uint64_t)request->profiles[i].profile.memory_gb,
                                           &part) ||
                    __builtin_add_overflow(sum, part, &sum) || sum > INT64_MAX)
                        return err_set(e, -ERANGE, "the MIG profiles come to too much memory");
        }
        *ret_gb = sum;
        return 0;
}
