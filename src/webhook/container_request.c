/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU request of one container. */
#include "container_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pod_request.h"

struct lists {
        json_t *limits, *requests;
        char limits_path[PATCH_PATH], requests_path[PATCH_PATH];
};

static bool lists_open(struct patch *patch, json_t *container, const char *path,
                       struct lists *ret_lists)
{
        char resources_path[PATCH_PATH];
        json_t *resources = patch_object(patch, container, path, "resources", resources_path);

        *ret_lists = (struct lists){ 0 };
        if (!resources)
                return false;
        ret_lists->limits =
                patch_object(patch, resources, resources_path, "limits", ret_lists->limits_path);
        ret_lists->requests = patch_object(patch, resources, resources_path, "requests",
                                           ret_lists->requests_path);
        return ret_lists->limits && ret_lists->requests;
}

static void amount_set(struct patch *patch, struct lists *lists, const char *name, uint64_t amount)
{
        char text[24];

        snprintf(text, sizeof text, "%" PRIu64, amount);
        patch_set(patch, lists->limits, lists->limits_path, name, json_string(text));
        patch_set(patch, lists->requests, lists->requests_path, name, json_string(text));
}

/* A resource of ours that stands in `from` alone is copied to `to`, in the words it has there. */
static void alone_copy(struct patch *patch, const json_t *from, json_t *to, const char *to_path,
                       const struct container_rules *rules)
{
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)from, name, value) {
                struct resource resource;

                if (resource_find(name, rules->with_gpu, &resource) && !json_object_get(to, name))
                        patch_set(patch, to, to_path, name, json_incref(value));
        }
}

static int units_set(struct patch *patch, struct lists *lists, const struct request *request,
                     const struct container_rules *rules, struct err *e)
{
        const char *name = resource_name(RESOURCE_SLICED, RESOURCE_MEMORY_UNITS);
        const uint64_t asked = request->values[RESOURCE_MEMORY_UNITS];
        uint64_t gb;
        const int r = request_profile_gb(request, &gb, e);

        if (r < 0)
                return r;
        if (rules->leaves_units)
                return request_has(request, RESOURCE_MEMORY_UNITS)
                               ? err_set(e, -EINVAL,
                                         "%s is counted from its MIG profiles by the queue, and "
                                         "would be counted twice; leave it out",
                                         name)
                               : 0;
        if (request_has(request, RESOURCE_MEMORY_UNITS)) {
                if (asked == gb)
                        return 0;
                if (!rules->is_units_fixed)
                        return err_set(e, -EINVAL,
                                       "%s is %" PRIu64 ", but its MIG profiles come to %" PRIu64
                                       "; leave it out",
                                       name, asked, gb);
        }
        amount_set(patch, lists, name, gb);
        return 0;
}

static void defaults_set(struct patch *patch, struct lists *lists, const struct request *request)
{
        static const enum resource_kind kinds[] = { RESOURCE_COUNT, RESOURCE_CORES };

        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                const char *name = resource_name(request->family, kinds[i]);

                if (name && !request_has(request, kinds[i]) && request->values[kinds[i]])
                        amount_set(patch, lists, name, request->values[kinds[i]]);
        }
}

int container_request_complete(struct patch *patch, json_t *container, const char *path,
                               const struct container_rules *rules, struct request *ret_request,
                               struct err *e)
{
        const int r = pod_request_read(container, rules->with_gpu, ret_request, e);
        struct lists lists;

        if (r < 0 || request_is_empty(ret_request))
                return r;
        if (!lists_open(patch, container, path, &lists)) {
                err_set(e, -EINVAL, "its resources are not an object");
                return pod_request_refuse(container, e);
        }
        alone_copy(patch, lists.requests, lists.limits, lists.limits_path, rules);
        alone_copy(patch, lists.limits, lists.requests, lists.requests_path, rules);
        defaults_set(patch, &lists, ret_request);
        if (request_has(ret_request, RESOURCE_MIG) &&
            units_set(patch, &lists, ret_request, rules, e) < 0)
                return pod_request_refuse(container, e);
        return 0;
}
