/* An AdmissionReview in, one out. */
#include "review.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "pod.h"
#include "scope.h"
#include "validate.h"

#define API "admission.k8s.io/v1"

struct review {
        const char *uid, *kind, *operation, *sub_resource, *pod_namespace, *user;
        json_t *object, *old;
};

static const char *text_get(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static int review_read(const json_t *root, struct review *ret_review, struct err *e)
{
        json_t *request = json_object_get(root, "request");

        if (!json_is_object(request) || strcmp(text_get(root, "kind"), "AdmissionReview") != 0)
                return err_set(e, -EINVAL, "the body is no AdmissionReview");
        if (strcmp(text_get(root, "apiVersion"), API) != 0)
                return err_set(e, -EINVAL, "AdmissionReview of version '%.60s'; it must be " API,
                               text_get(root, "apiVersion"));
        *ret_review = (struct review){
                .uid = text_get(request, "uid"),
                .kind = text_get(json_object_get(request, "kind"), "kind"),
                .operation = text_get(request, "operation"),
                .sub_resource = text_get(request, "subResource"),
                .pod_namespace = text_get(request, "namespace"),
                .user = text_get(json_object_get(request, "userInfo"), "username"),
                .object = json_object_get(request, "object"),
                .old = json_object_get(request, "oldObject"),
        };
        if (!*ret_review->uid)
                return err_set(e, -EINVAL, "the AdmissionReview has no uid");
        return 0;
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
        return mutate_template(review->object, review->kind, rules, patch, e);
}

static int review_validate(const struct review *review, const struct rules *rules, struct err *e)
{
        if (!json_is_object(review->object))
                return 0;
        if (strcmp(review->kind, "Binding") == 0) /* of pods/binding, or posted for itself */
                return validate_binding(review->object, review->user, rules, e);
        if (strcmp(review->kind, "Pod") != 0)
                return 0;
        if (strcmp(review->operation, "CREATE") == 0)
                return validate_pod(review->object, rules, e);
        return validate_change(review->object, review->old, review->user, rules, e);
}

/* The operations as base64 text, or NULL. */
static json_t *patch_text(const struct patch *patch)
{
        autofree char *operations = json_dumps(patch->operations, JSON_COMPACT);
        const gnutls_datum_t plain = { (unsigned char *)operations,
                                       operations ? (unsigned)strlen(operations) : 0 };
        gnutls_datum_t coded = { 0 };

        if (!operations || gnutls_base64_encode2(&plain, &coded) < 0)
                return NULL;
        json_t *text = json_stringn((const char *)coded.data, coded.size);

        gnutls_free(coded.data);
        return text;
}

static json_t *response_make(const struct review *review, int result, const struct patch *patch,
                             const struct err *e)
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
        return json_pack("{s:s, s:s, s:o}", "apiVersion", API, "kind", "AdmissionReview",
                         "response", response);
}

static int root_answer(const json_t *root, enum review_side side, const struct rules *rules,
                       char **ret_answer, struct err *e)
{
        struct review review = { 0 };
        struct patch patch;
        int r = review_read(root, &review, e);

        if (r < 0)
                return r;
        patch_init(&patch);
        r = side == REVIEW_MUTATE ? review_mutate(&review, rules, &patch, e)
                                  : review_validate(&review, rules, e);
        json_t *answer = patch.is_broken ? NULL : response_make(&review, r, &patch, e);

        *ret_answer = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
        json_decref(answer);
        patch_done(&patch);
        return *ret_answer ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int review_answer(const char *body, size_t body_bytes, enum review_side side,
                  const struct rules *rules, char **ret_answer, struct err *e)
{
        json_error_t error;
        json_t *root = json_loadb(body, body_bytes, 0, &error);

        if (!root)
                return err_set(e, -EINVAL, "the body is no JSON: %.100s (line %d)", error.text,
                               error.line);
        const int r = root_answer(root, side, rules, ret_answer, e);

        json_decref(root);
        return r;
}
