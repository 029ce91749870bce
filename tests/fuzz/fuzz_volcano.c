/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: decisions on pods, Volcano's and ours. What is read reads back as the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pod_allocation.h"
#include "volcano.h"

const char *const fuzz_words[] = { "GPU-1,NVIDIA,3000,50:",
                                   ";",
                                   ",",
                                   "{\"version\":1,\"pod\":\"u\",\"node\":\"n\",\"containers\":{",
                                   "\"a\":[{\"uuid\":\"GPU-1\",\"memory\":1,\"cores\":1}]",
                                   NULL };

static json_t *pod_make(const char *annotation, const char *text)
{
        return json_pack(
                "{s:{s:s, s:{s:s, s:s}}, s:{s:s, s:[{s:s, s:{s:{s:i}}}, {s:s, s:{s:{s:i}}}]}}",
                "metadata", "uid", "u", "annotations", annotation, text, VOLCANO_NODE, "n", "spec",
                "nodeName", "n", "containers", "name", "a", "resources", "limits",
                "volcano.sh/vgpu-number", 1, "name", "b", "resources", "limits",
                "volcano.sh/vgpu-memory", 7);
}

static void volcano_try(const char *text)
{
        json_t *pod = pod_make(VOLCANO_DECISION, text), *again;
        struct allocation allocation, second;

        if (pod_allocation_read(pod, &allocation, NULL) == 0) {
                char *printed = volcano_decision_format(&allocation);

                again = pod_make(VOLCANO_DECISION, printed);
                if (allocation.parts.count != 2 || pod_allocation_read(again, &second, NULL) < 0 ||
                    memcmp(second.parts.items, allocation.parts.items,
                           2 * sizeof(struct allocation_part)) != 0)
                        abort();
                allocation_done(&second);
                allocation_done(&allocation);
                json_decref(again);
                free(printed);
        }
        json_decref(pod);
}

static void ours_try(const char *text)
{
        json_t *pod = pod_make(ALLOCATION_ANNOTATION, text);
        struct allocation allocation;

        if (pod_allocation_read(pod, &allocation, NULL) == 0) {
                char *printed = allocation_format(&allocation);

                if (!printed)
                        abort();
                free(printed);
                allocation_done(&allocation);
        }
        json_decref(pod);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);
        json_t *probe = json_string(text);

        if (probe) { /* an annotation is UTF-8 */
                volcano_try(text);
                ours_try(text);
        }
        json_decref(probe);
        free(text);
}
