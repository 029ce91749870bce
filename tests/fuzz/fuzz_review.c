/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: AdmissionReviews. Whatever comes in, what goes out is an AdmissionReview that allows or
 * refuses with a sentence, or nothing but a sentence. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "review.h"

const char *const fuzz_words[] = { "\"operation\":\"UPDATE\"",
                                   "\"kind\":{\"kind\":\"Job\"}",
                                   "\"kind\":{\"kind\":\"CronJob\"}",
                                   "\"kind\":{\"kind\":\"JobSet\"}",
                                   "\"subResource\":\"binding\"",
                                   "\"oldObject\":{\"metadata\":{\"annotations\":{",
                                   "\"vgpu.io/memory\":\"1Gi\"",
                                   "\"vgpu.io/container-uuids\":\"{}\"",
                                   "\"nvidia.com/mig-1g.5gb\":\"2\"",
                                   "\"gpu.das.com/mem\":\"9\"",
                                   "\"nvidia.com/gpumem\":200",
                                   "\"initContainers\":[",
                                   "\"nodeName\":\"n\"",
                                   "\\u0000",
                                   NULL };

static uint64_t now_s(void)
{
        return 1000;
}

static void side_try(const char *body, size_t count, enum review_side side)
{
        static const char *const names[] = { "nvidia", NULL };
        const struct rules rules = { .scheduler = "vgpu-scheduler",
                                     .runtime_class = "vgpu",
                                     .foreign_runtimes = names,
                                     .trusted_users = names,
                                     .seal = { .now_s = now_s } };
        enum review_outcome outcome;
        struct err e = { 0 };
        char *answer = NULL;

        if (review_answer(body, count, side, &rules, &answer, &outcome, &e) < 0) {
                if (!*e.text || answer)
                        abort();
                return;
        }
        json_t *root = json_loads(answer, 0, NULL);
        const json_t *response = json_object_get(root, "response");
        const char *message =
                json_string_value(json_object_get(json_object_get(response, "status"), "message"));

        if (!json_is_boolean(json_object_get(response, "allowed")) ||
            (json_is_false(json_object_get(response, "allowed")) && (!message || !*message)))
                abort();
        json_decref(root);
        free(answer);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *body = malloc(count + 1); /* as http_body() hands it on */

        if (!body)
                abort();
        memcpy(body, bytes, count);
        body[count] = '\0';
        side_try(body, count, REVIEW_MUTATE);
        side_try(body, count, REVIEW_VALIDATE);
        free(body);
}
