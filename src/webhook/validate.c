/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a pod after all mutations, and at every change of it later. */
#include "validate.h"

#include <errno.h>
#include <string.h>

#include "allocation.h"
#include "annotation.h"
#include "json_read.h"
#include "pod.h"
#include "pod_request.h"

static bool name_is_in(const char *name, const char *const *names)
{
        for (; names && *names; names++)
                if (strcmp(name, *names) == 0)
                        return true;
        return false;
}

static bool user_may_write(const char *user, const char *annotation, const struct rules *rules)
{
        return name_is_in(user, rules->trusted_users) ||
               (annotation_is_of_volcano(annotation) && name_is_in(user, rules->volcano_users));
}

/* A rule that would still change something says that it was undone after us. */
static int container_validate(json_t *container, const struct rules *rules, bool *ret_has_gpu,
                              struct err *e)
{
        struct request request;
        struct patch patch;
        int r;

        patch_init(&patch);
        r = container_request_complete(&patch, container, "", &rules->container, &request, e);
        if (r == 0 && json_array_size(patch.operations) > 0)
                r = err_set(e, -EINVAL,
                            "container '%.63s': another webhook changed its GPU request",
                            pod_request_name(container));
        patch_done(&patch);
        *ret_has_gpu |= !request_is_empty(&request);
        return r;
}

/* MiB that the container was given; 0: it has none yet. */
static uint64_t given_mib(const struct allocation *allocation, const char *container)
{
        for (size_t i = 0; i < allocation->parts.count; i++) {
                const struct allocation_part *part = vec_at(&allocation->parts, i);

                if (strcmp(part->container, container) == 0)
                        return part->memory_mib;
        }
        return 0;
}

/* What each of the pod's GPU containers has at first: the greatest. Percents of a GPU are what the
 * scheduler made of them; before that they are nothing that could be compared, so 1 byte. */
static void pod_sizes(json_t *pod, const struct rules *rules, uint64_t *ret_bytes,
                      unsigned *ret_cores)
{
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "/spec" };
        struct allocation allocation = { .parts = VEC_OF(struct allocation_part) };
        const char *decided = json_read_annotation(pod, ALLOCATION_ANNOTATION);

        if (decided && allocation_parse(decided, &allocation, NULL) < 0)
                allocation = (struct allocation){ .parts = VEC_OF(struct allocation_part) };
        *ret_bytes = *ret_cores = 0;
        while (pod_walk_next(&walk)) {
                struct request request;

                if (pod_request_read(walk.container, rules->container.with_gpu, &request, NULL) < 0)
                        continue;
                const uint64_t percent = request.values[RESOURCE_MEMORY_PERCENT];
                const uint64_t given = given_mib(&allocation, pod_request_name(walk.container));
                const bool is_part = percent > 0 && percent < 100;
                const uint64_t bytes = !is_part ? request.values[RESOURCE_MEMORY] << 20
                                       : given  ? given << 20
                                                : 1;
                const unsigned cores = (unsigned)request.values[RESOURCE_CORES];

                *ret_bytes = bytes > *ret_bytes ? bytes : *ret_bytes;
                *ret_cores = cores > *ret_cores ? cores : *ret_cores;
        }
        allocation_done(&allocation);
}

/* What the pod's annotations ask for, against what it may have. */
static int sizes_check(json_t *pod, const struct rules *rules, struct err *e)
{
        uint64_t bytes;
        unsigned cores;

        pod_sizes(pod, rules, &bytes, &cores);
        return annotation_check_resize(json_read_annotations(pod), bytes, cores, e);
}

int validate_pod(json_t *pod, const struct rules *rules, struct err *e)
{
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "/spec" };
        bool has_gpu = false;
        const char *name;
        json_t *value;

        while (pod_walk_next(&walk)) {
                const int r = container_validate(walk.container, rules, &has_gpu, e);

                if (r < 0)
                        return r;
        }
        json_object_foreach (json_read_annotations(pod), name, value) {
                const bool is_uuid = strcmp(name, ANNOTATION_CONTAINER_UUIDS) == 0 ||
                                     strcmp(name, ANNOTATION_SEAL) == 0;

                if (annotation_is_reserved(name) && !is_uuid)
                        return err_set(e, -EINVAL, "users may not set annotation %s", name);
        }
        if (has_gpu && json_object_get(walk.spec, "nodeName"))
                return err_set(e, -EINVAL,
                               "nodeName is set: only the scheduler may place GPU pods");
        return has_gpu ? sizes_check(pod, rules, e) : 0;
}

static int annotation_change(const char *name, const char *user, const struct rules *rules,
                             struct err *e)
{
        if (annotation_is_reserved(name) && !user_may_write(user, name, rules))
                return err_set(e, -EPERM, "users may not change annotation %s", name);
        if (annotation_is_ceiling(name) && !user_may_write(user, name, rules))
                return err_set(e, -EPERM, "annotation %s is fixed when the pod is created", name);
        return 0;
}

int validate_change(json_t *pod, const json_t *old, const char *user, const struct rules *rules,
                    struct err *e)
{
        json_t *now = json_read_annotations(pod), *before = json_read_annotations(old);
        bool has_changed = false;
        const char *name;
        json_t *value;

        json_object_foreach (now, name, value) {
                const json_t *was = json_object_get(before, name);

                if (was && json_equal(was, value))
                        continue;
                has_changed = true;
                if (annotation_change(name, user, rules, e) < 0 ||
                    annotation_check(name, value, e) < 0)
                        return -EINVAL;
        }
        json_object_foreach (before, name, value) {
                if (!json_object_get(now, name) && annotation_change(name, user, rules, e) < 0)
                        return -EINVAL;
        }
        return has_changed ? sizes_check(pod, rules, e) : 0;
}

/* Volcano's Binding repeats all annotations of the pod: the UUIDs that we gave it may be among them. */
static bool is_repeated(const json_t *annotations, const char *name, const char *pod_namespace,
                        const char *user, const struct rules *rules)
{
        const char *uuids = json_read_text_or_null(annotations, ANNOTATION_CONTAINER_UUIDS);
        const char *seal = json_read_text_or_null(annotations, ANNOTATION_SEAL);
        const bool is_uuid =
                strcmp(name, ANNOTATION_CONTAINER_UUIDS) == 0 || strcmp(name, ANNOTATION_SEAL) == 0;

        return is_uuid && uuids && seal && name_is_in(user, rules->volcano_users) &&
               seal_is_ours(&rules->seal, pod_namespace, uuids, seal);
}

int validate_binding(const json_t *binding, const char *pod_namespace, const char *user,
                     const struct rules *rules, struct err *e)
{
        const json_t *annotations = json_read_annotations(binding);
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)annotations, name, value) {
                if (annotation_is_reserved(name) && !user_may_write(user, name, rules) &&
                    !is_repeated(annotations, name, pod_namespace, user, rules))
                        return err_set(e, -EPERM,
                                       "only vgpu-scheduler may set annotation %s in a Binding",
                                       name);
        }
        return 0;
}
