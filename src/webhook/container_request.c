/* The GPU request of one container. */
#include "container_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "amount.h"

const char *container_name(const json_t *container)
{
        const char *name = json_string_value(json_object_get(container, "name"));

        return name ? name : "?";
}

static const json_t *list_get(const json_t *container, const char *list)
{
        return json_object_get(json_object_get(container, "resources"), list);
}

/* A quantity is a JSON string or a whole JSON number. */
static int quantity_read(const json_t *value, const char *name, int64_t *ret_amount, struct err *e)
{
        char text[32];
        int r;

        if (json_is_integer(value)) {
                snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
                r = amount_parse(text, ret_amount, e);
        } else if (json_is_string(value)) {
                r = amount_parse(json_string_value(value), ret_amount, e);
        } else {
                r = err_set(e, -EINVAL, "not a quantity");
        }
        return r < 0 ? err_context(e, r, name) : 0;
}

/* Of a resource that stands in one list: what the other says of it must be the same. */
static int other_check(const json_t *other, const char *name, int64_t amount, struct err *e)
{
        const json_t *value = json_object_get(other, name);
        int64_t theirs;

        if (!value)
                return 0;
        const int r = quantity_read(value, name, &theirs, e);

        if (r < 0)
                return r;
        if (theirs == amount)
                return 0;
        return err_set(e, -EINVAL,
                       "%s: limit %" PRId64 " and request %" PRId64 " differ; GPUs cannot be "
                       "overcommitted this way",
                       name, amount, theirs);
}

static int list_read(const json_t *list, const json_t *other, bool is_second,
                     const struct container_rules *rules, struct request *request, struct err *e)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)list, name, value)
        {
                struct resource resource;
                int64_t amount;
                int r;

                if (!resource_find(name, rules->with_gpu, &resource) ||
                    (is_second && json_object_get(other, name)))
                        continue;
                r = quantity_read(value, name, &amount, e);
                if (r == 0 && !is_second)
                        r = other_check(other, name, amount, e);
                if (r == 0)
                        r = request_add(request, &resource, amount, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* -EINVAL, with the container's name before the sentence. */
static int refuse(const json_t *container, struct err *e)
{
        char context[96];

        snprintf(context, sizeof context, "container '%.63s'", container_name(container));
        return err_context(e, -EINVAL, context);
}

int container_request_read(const json_t *container, const struct container_rules *rules,
                           struct request *ret_request, struct err *e)
{
        const json_t *limits = list_get(container, "limits");
        const json_t *requests = list_get(container, "requests");

        *ret_request = (struct request){ 0 };
        if (list_read(limits, requests, false, rules, ret_request, e) < 0 ||
            list_read(requests, limits, true, rules, ret_request, e) < 0 ||
            request_complete(ret_request, e) < 0)
                return refuse(container, e);
        return 0;
}

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

        json_object_foreach((json_t *)from, name, value)
        {
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
        const int r = container_request_read(container, rules, ret_request, e);
        struct lists lists;

        if (r < 0 || request_is_empty(ret_request))
                return r;
        if (!lists_open(patch, container, path, &lists)) {
                err_set(e, -EINVAL, "its resources are not an object");
                return refuse(container, e);
        }
        alone_copy(patch, lists.requests, lists.limits, lists.limits_path, rules);
        alone_copy(patch, lists.limits, lists.requests, lists.requests_path, rules);
        defaults_set(patch, &lists, ret_request);
        if (request_has(ret_request, RESOURCE_MIG) &&
            units_set(patch, &lists, ret_request, rules, e) < 0)
                return refuse(container, e);
        return 0;
}
