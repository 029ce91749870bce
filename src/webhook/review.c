/* SPDX-License-Identifier: Apache-2.0 */
/* An AdmissionReview in, one out. */
#include "review.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_memory.h"
#include "json_read.h"
#include "json_text.h"
#include "kube_object.h"
#include "mutate.h"
#include "pod.h"
#include "pod_request.h"
#include "scope.h"
#include "validate.h"

#define API "admission.k8s.io/v1"

struct review {
        const char *uid, *kind, *operation, *sub_resource, *pod_namespace, *user;
        json_t *object, *old;
};

static int review_read(const json_t *root, struct review *ret_review, struct err *e)
{
        json_t *request = json_object_get(root, "request");

        if (!json_is_object(request) ||
            strcmp(json_read_text(root, "kind"), "AdmissionReview") != 0)
                return err_set(e, -EINVAL, "the body is not an AdmissionReview");
        if (strcmp(json_read_text(root, "apiVersion"), API) != 0)
                return err_set(e, -EINVAL, "AdmissionReview of version '%.60s'; it must be " API,
                               json_read_text(root, "apiVersion"));
        *ret_review = (struct review){
                .uid = json_read_text(request, "uid"),
                .kind = json_read_text(json_object_get(request, "kind"), "kind"),
                .operation = json_read_text(request, "operation"),
                .sub_resource = json_read_text(request, "subResource"),
                .pod_namespace = json_read_text(request, "namespace"),
                .user = json_read_text(json_object_get(request, "userInfo"), "username"),
                .object = json_object_get(request, "object"),
                .old = json_object_get(request, "oldObject"),
        };
        if (!*ret_review->uid)
                return err_set(e, -EINVAL, "the AdmissionReview has no uid");
        return 0;
}

/* Where the pod templates of a Job, CronJob or JobSet are. */
static json_t *template_of(const json_t *object)
{
        static const char *const names[] = { "template", "jobTemplate", "replicatedJobs" };
        json_t *found = NULL;

        for (unsigned i = 0; i < sizeof names / sizeof names[0] && !found; i++)
                found = json_object_get(json_object_get(object, "spec"), names[i]);
        return found;
}

static int review_mutate(const struct review *review, const struct rules *rules,
                         struct patch *patch, struct err *e)
{
        const bool is_pod = strcmp(review->kind, "Pod") == 0 && !*review->sub_resource;

        if (!json_is_object(review->object))
                return 0;
        if (is_pod)
                return strcmp(review->operation, "CREATE") == 0
                               ? mutate_pod(review->object, review->pod_namespace, rules, patch, e)
                               : 0;
        /* What a controller makes must stay as it made it, or it makes it again, for ever. */
        if (*review->sub_resource || pod_has_controller(review->object))
                return 0;
        /* A template that nobody touches may be older than we are, and cannot be changed any more: then
         * whatever else of the object is changed must go through. */
        if (strcmp(review->operation, "CREATE") != 0 &&
            json_equal(template_of(review->object), template_of(review->old)))
                return 0;
        return mutate_template(review->object, review->kind, rules, patch, e);
}

static int review_validate(const struct review *review, const struct rules *rules, struct err *e)
{
        if (!json_is_object(review->object))
                return 0;
        if (strcmp(review->kind, "Binding") == 0) /* of pods/binding, or posted for itself */
                return validate_binding(review->object, review->pod_namespace, review->user, rules,
                                        e);
        if (strcmp(review->kind, "Pod") != 0)
                return 0;
        if (strcmp(review->operation, "CREATE") == 0)
                return validate_pod(review->object, rules, e);
        return validate_change(review->object, review->old, review->user, rules, e);
}

/* The operations as base64 text, or NULL. */
static json_t *patch_text(const struct patch *patch)
{
        autofree char *operations = json_memory_dump(patch->operations, JSON_COMPACT);
        const gnutls_datum_t plain = { (unsigned char *)operations,
                                       operations ? (unsigned)strlen(operations) : 0 };
        gnutls_datum_t coded = { 0 };

        if (!operations || gnutls_base64_encode2(&plain, &coded) < 0)
                return NULL;
        json_t *text = json_stringn((const char *)coded.data, coded.size);

        gnutls_free(coded.data);
        return text;
}

/* More than any GPU has is no error: a larger GPU may come. But whoever asks wants to know. */
static json_t *warnings_make(const struct review *review, const struct rules *rules)
{
        struct pod_walk walk = { .spec = json_object_get(review->object, "spec"), .path = "" };
        const bool is_new_pod = strcmp(review->kind, "Pod") == 0 && !*review->sub_resource &&
                                strcmp(review->operation, "CREATE") == 0;
        json_t *warnings = json_array();
        struct request request;
        char text[200]; /* kubectl shows 256 bytes of each */

        while (is_new_pod && rules->largest_device_mib && pod_walk_next(&walk)) {
                if (pod_request_read(walk.container, rules->container.with_gpu, &request, NULL) <
                            0 ||
                    request.values[RESOURCE_MEMORY] <= rules->largest_device_mib)
                        continue;
                snprintf(text, sizeof text,
                         "container '%.63s' waits: it asks for %" PRIu64
                         " MiB of one GPU, and the largest here has %" PRIu64,
                         pod_request_name(walk.container), request.values[RESOURCE_MEMORY],
                         rules->largest_device_mib);
                json_array_append_new(warnings, json_string(text));
        }
        return warnings;
}

/* Takes the warnings' reference; NULL: none. */
static json_t *response_make(const struct review *review, int result, const struct patch *patch,
                             json_t *warnings, const struct err *e)
{
        json_t *response =
                json_pack("{s:s, s:b}", "uid", review->uid, "allowed", result == 0 ? 1 : 0);

        if (result < 0)
                json_object_set_new(response, "status",
                                    json_pack("{s:i, s:s, s:s}", "code", 403, "reason", "Forbidden",
                                              "message", e->text));
        if (result == 0 && json_array_size(patch->operations) > 0) {
                json_object_set_new(response, "patchType", json_string("JSONPatch"));
                json_object_set_new(response, "patch", patch_text(patch));
        }
        if (json_array_size(warnings) > 0)
                json_object_set(response, "warnings", warnings);
        json_decref(warnings);
        return json_pack("{s:s, s:s, s:o}", "apiVersion", API, "kind", "AdmissionReview",
                         "response", response);
}

static int root_answer(const json_t *root, enum review_side side, const struct rules *rules,
                       char **ret_answer, enum review_outcome *ret_outcome, struct err *e)
{
        const uint64_t mark = json_memory_mark();
        struct review review = { 0 };
        json_t *warnings = NULL;
        struct patch patch;
        int r = review_read(root, &review, e);

        if (r < 0)
                return r;
        patch_init(&patch);
        r = side == REVIEW_MUTATE ? review_mutate(&review, rules, &patch, e)
                                  : review_validate(&review, rules, e);
        if (r == 0 && side == REVIEW_MUTATE)
                warnings = warnings_make(&review, rules);
        *ret_outcome = r < 0                                   ? REVIEW_REFUSED
                       : json_array_size(patch.operations) > 0 ? REVIEW_CHANGED
                                                               : REVIEW_LEFT;
        autojson json_t *answer = response_make(&review, r, &patch, warnings, e);

        *ret_answer = answer && !patch.is_broken ? json_memory_dump(answer, JSON_COMPACT) : NULL;
        patch_done(&patch);
        /* An answer that lacks something admits what must not be admitted. */
        if (*ret_answer && !json_memory_is_whole(mark))
                free(steal(*ret_answer));
        return *ret_answer ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* A tree of what we read of a pod. Most of it is not about GPUs, and takes ten times as long to parse as to
 * skip. NULL: it is no pod's, or no JSON. */
static json_t *pod_parse(const char *body, size_t body_bytes)
{
        static const char *const skipped[] = {
                "affinity",
                "args",
                "command",
                "env",
                "envFrom",
                "labels",
                "lifecycle",
                "livenessProbe",
                "managedFields",
                "readinessProbe",
                "securityContext",
                "startupProbe",
                "status",
                "tolerations",
                "volumeMounts",
                "volumes",
                NULL,
        };
        struct str thin = { 0 };
        json_t *root = NULL;
        struct review review;
        bool is_tamed;

        if (json_text_without(body, body_bytes, skipped, &thin) == 0)
                root = kube_object_load(thin.text, thin.length, &is_tamed, NULL);
        str_done(&thin);
        if (root && review_read(root, &review, NULL) == 0 && strcmp(review.kind, "Pod") == 0)
                return root;
        json_decref(root);
        return NULL;
}

int review_answer(const char *body, size_t body_bytes, enum review_side side,
                  const struct rules *rules, char **ret_answer, enum review_outcome *ret_outcome,
                  struct err *e)
{
        autojson json_t *root = pod_parse(body, body_bytes);
        struct err why = { 0 };
        bool is_tamed;

        if (!root)
                root = kube_object_load(body, body_bytes, &is_tamed, &why);
        if (!root)
                return err_set(e, why.code == -ENOMEM ? why.code : -EINVAL,
                               "cannot read the body: %s", why.text);
        return root_answer(root, side, rules, ret_answer, ret_outcome, e);
}
