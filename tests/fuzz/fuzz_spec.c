/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a container's config.json. It is refused with a sentence, or it can be changed; what
 * is written then reads back as the same changes, and what was not to be changed is the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gpu_request_detect.h"
#include "pod_identity.h"
#include "spec_edit.h"
#include "spec_inject.h"

const char *const fuzz_words[] = { "{\"process\":{\"env\":[\"NVIDIA_VISIBLE_DEVICES=all\"]}}",
                                   "\"mounts\":[",
                                   "\"linux\":{",
                                   "\"devices\":[",
                                   "\"resources\":{",
                                   "\"path\":\"/dev/nvidia0\"",
                                   "\"major\":195",
                                   "18446744073709551615",
                                   "\"annotations\":{",
                                   "\"vgpu.io/requested\":\"\"",
                                   "\"hooks\":",
                                   "null",
                                   "\\u0000",
                                   "\\\"",
                                   NULL };

static bool has_same_remainder(const struct spec *before, const struct spec *after)
{
        static const char *const kept[] = { "ociVersion", "root", "annotations", "hooks",
                                            "unknown" };

        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
                const json_t *a = json_object_get(before->root, kept[i]);
                const json_t *b = json_object_get(after->root, kept[i]);

                if ((a || b) && !json_equal(a, b))
                        return false;
        }
        return true;
}

static void change(struct spec *spec)
{
        const struct spec_device device = { "/dev/nvidia7", 195, 7 };
        struct str text = { 0 };
        struct spec again;
        struct err e = { 0 };

        if (spec_inject_nothing(spec, &e) < 0 || spec_device_add(spec, &device) < 0 ||
            spec_mount_insert(spec, &(struct spec_mount){ "/a", "/etc", true }) < 0)
                abort();
        if (spec_render(spec, &text, &e) < 0) {
                if (!e.text[0])
                        abort();
                return;
        }
        if (spec_parse(text.text, &again, &e) < 0)
                abort();
        if (strcmp(spec_env_get(&again, "NVIDIA_VISIBLE_DEVICES"), "void") != 0 ||
            !json_equal(spec_query(spec, SPEC_DEVICES), spec_query(&again, SPEC_DEVICES)) ||
            !has_same_remainder(spec, &again))
                abort();
        spec_done(&again);
        str_done(&text);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = malloc(count + 1), request[128];
        struct spec spec;
        struct err e = { 0 };

        memcpy(text, bytes, count);
        text[count] = '\0';
        if (spec_parse(text, &spec, &e) == 0) {
                pod_identity_of(&spec);
                gpu_request_detect(&spec, request);
                change(&spec);
                spec_done(&spec);
        } else if (!e.text[0]) {
                abort();
        }
        free(text);
}
