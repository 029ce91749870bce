/* SPDX-License-Identifier: Apache-2.0 */
/* Makes what a pod or a template asks for explicit. */
#include "mutate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "annotation.h"
#include "json_memory.h"
#include "json_read.h"
#include "pod.h"
#include "pod_request.h"
#include "scope.h"

/* All containers of a pod spec. *ret_uuids: the names of those that ask for a GPU, or NULL. */
static int spec_complete(json_t *spec, const char *path, const struct rules *rules,
                         struct patch *patch, json_t *names, struct err *e)
{
        struct pod_walk walk = { .spec = spec, .path = path };

        while (pod_walk_next(&walk)) {
                struct request request;
                const int r = container_request_complete(patch, walk.container, walk.pointer,
                                                         &rules->container, &request, e);

                if (r < 0)
                        return r;
                if (names && !request_is_empty(&request))
                        json_array_append_new(names, json_string(pod_request_name(walk.container)));
        }
        return 0;
}

static bool name_is_in_list(const char *name, const char *const *list)
{
        for (; list && *list; list++)
                if (strcmp(name, *list) == 0)
                        return true;
        return false;
}

static int runtime_set(json_t *spec, const struct rules *rules, struct patch *patch, bool has_gpu,
                       struct err *e)
{
        const char *name = json_read_text(spec, "runtimeClassName");

        if (name_is_in_list(name, rules->foreign_runtimes))
                return err_set(e, -EINVAL,
                               "runtimeClassName '%.60s' hands out GPUs without vgpu; leave it out",
                               name);
        if (has_gpu && !*name && rules->runtime_class)
                patch_set(patch, spec, "/spec", "runtimeClassName",
                          json_string(rules->runtime_class));
        return 0;
}

static int scheduler_set(json_t *spec, const struct rules *rules, struct patch *patch,
                         struct err *e)
{
        const char *name = json_read_text(spec, "schedulerName");

        if (*json_read_text(spec, "nodeName"))
                return err_set(e, -EINVAL,
                               "nodeName '%.60s' is set: only the scheduler may place GPU pods; "
                               "use a node selector or affinity",
                               json_read_text(spec, "nodeName"));
        if (!*name || strcmp(name, "default-scheduler") == 0)
                patch_set(patch, spec, "/spec", "schedulerName", json_string(rules->scheduler));
        return 0;
}

/* The UUIDs are ours, of this admission, and name the same containers. */
static bool uuids_are_ours(const json_t *annotations, const json_t *names,
                           const char *pod_namespace, const struct rules *rules)
{
        const char *text = json_read_text(annotations, ANNOTATION_CONTAINER_UUIDS);
        autojson json_t *uuids = json_memory_load_text(text, &(int){ 0 });
        const json_t *name;
        size_t i;

        if (!seal_holds(&rules->seal, pod_namespace, text,
                        json_read_text(annotations, ANNOTATION_SEAL)) ||
            json_object_size(uuids) != json_array_size(names))
                return false;
        json_array_foreach (names, i, name)
                if (!json_object_get(uuids, json_string_value(name)))
                        return false;
        return true;
}

static int uuids_make(const json_t *names, const char *pod_namespace, const struct rules *rules,
                      char **ret_uuids, char ret_seal[static SEAL_TEXT])
{
        autojson json_t *uuids = json_object();
        const json_t *name;
        size_t i;

        json_array_foreach (names, i, name) {
                char uuid[37];

                if (seal_uuid(uuid) < 0 ||
                    json_object_set_new(uuids, json_string_value(name), json_string(uuid)) < 0)
                        return -ENOMEM;
        }
        *ret_uuids = json_memory_dump(uuids, JSON_COMPACT | JSON_SORT_KEYS);
        return *ret_uuids ? seal_make(&rules->seal, pod_namespace, *ret_uuids, ret_seal) : -ENOMEM;
}

static int uuids_set(json_t *pod, const json_t *names, const char *pod_namespace,
                     const struct rules *rules, struct patch *patch, struct err *e)
{
        char metadata_path[PATCH_PATH], path[PATCH_PATH], seal[SEAL_TEXT];
        json_t *metadata = patch_object(patch, pod, "", "metadata", metadata_path);
        json_t *annotations =
                metadata ? patch_object(patch, metadata, metadata_path, "annotations", path) : NULL;
        autofree char *uuids = NULL;

        if (!annotations)
                return err_set(e, -EINVAL, "metadata.annotations is not an object");
        if (uuids_are_ours(annotations, names, pod_namespace, rules))
                return 0;
        if (uuids_make(names, pod_namespace, rules, &uuids, seal) < 0)
                return err_set(e, -EIO, "cannot create UUIDs");
        patch_set(patch, annotations, path, ANNOTATION_CONTAINER_UUIDS, json_string(uuids));
        patch_set(patch, annotations, path, ANNOTATION_SEAL, json_string(seal));
        return 0;
}

/* What only our programs may write goes; what a user may write must be right. */
static int annotations_clean(json_t *pod, bool keep_uuids, struct patch *patch, struct err *e)
{
        json_t *annotations = json_read_annotations(pod);
        const char *name;
        json_t *value;
        void *next;

        json_object_foreach_safe (annotations, next, name, value) {
                const bool is_uuid = strcmp(name, ANNOTATION_CONTAINER_UUIDS) == 0 ||
                                     strcmp(name, ANNOTATION_SEAL) == 0;
                const int r = annotation_check(name, value, e);

                if (r < 0)
                        return r;
                if (annotation_is_reserved(name) && !(is_uuid && keep_uuids))
                        patch_remove(patch, annotations, "/metadata/annotations", name);
        }
        return 0;
}

int mutate_pod(json_t *pod, const char *pod_namespace, const struct rules *rules,
               struct patch *patch, struct err *e)
{
        autojson json_t *names = json_array();
        json_t *spec = json_object_get(pod, "spec");
        int r;

        if (!json_is_object(spec) || !names)
                return err_set(e, -EINVAL, "the pod has no spec");
        r = spec_complete(spec, "/spec", rules, patch, names, e);
        const bool has_gpu = json_array_size(names) > 0;

        if (r == 0)
                r = annotations_clean(pod, has_gpu, patch, e);
        if (r == 0)
                r = runtime_set(spec, rules, patch, has_gpu, e);
        if (r < 0 || !has_gpu)
                return r;
        r = scheduler_set(spec, rules, patch, e);
        return r < 0 ? r : uuids_set(pod, names, pod_namespace, rules, patch, e);
}

static json_t *path_get(json_t *object, const char *const *keys)
{
        for (; *keys; keys++)
                object = json_object_get(object, *keys);
        return object;
}

static int jobset_complete(json_t *object, const struct rules *rules, struct patch *patch,
                           struct err *e)
{
        json_t *jobs = path_get(object, (const char *const[]){ "spec", "replicatedJobs", NULL });
        json_t *job;
        size_t i;

        json_array_foreach (jobs, i, job) {
                json_t *spec = path_get(
                        job, (const char *const[]){ "template", "spec", "template", "spec", NULL });
                char path[PATCH_PATH];

                snprintf(path, sizeof path, "/spec/replicatedJobs/%zu/template/spec/template/spec",
                         i);
                const int r = spec_complete(spec, path, rules, patch, NULL, e);

                if (r < 0)
                        return r;
        }
        return 0;
}

int mutate_template(json_t *object, const char *kind, const struct rules *rules,
                    struct patch *patch, struct err *e)
{
        static const char *const in_job[] = { "spec", "template", "spec", NULL };
        static const char *const in_cron[] = { "spec",     "jobTemplate", "spec",
                                               "template", "spec",        NULL };

        if (strcmp(kind, "Job") == 0)
                return spec_complete(path_get(object, in_job), "/spec/template/spec", rules, patch,
                                     NULL, e);
        if (strcmp(kind, "CronJob") == 0)
                return spec_complete(path_get(object, in_cron),
                                     "/spec/jobTemplate/spec/template/spec", rules, patch, NULL, e);
        return strcmp(kind, "JobSet") == 0 ? jobset_complete(object, rules, patch, e) : 0;
}
