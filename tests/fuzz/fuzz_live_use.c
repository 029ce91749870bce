/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the metrics of a node's agent as `vgpu explain pod` reads them. Figures are counts. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "live_use.h"

const char *const fuzz_words[] = { "vgpu_container_memory_used_bytes{",
                                   "vgpu_container_cores_used_ratio{",
                                   "namespace=\"team\"",
                                   "pod=\"train\"",
                                   "container=\"main\"",
                                   "device_uuid=\"GPU-1\"",
                                   "} ",
                                   ",",
                                   "\n",
                                   "1e999",
                                   "-1",
                                   "nan",
                                   NULL };

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = malloc(count + 1);
        json_t *gpus = json_pack("[{s:s,s:s}]", "container", "main", "uuid", "GPU-1");

        memcpy(text, bytes, count);
        text[count] = '\0';
        live_use_add(text, "team", "train", gpus);
        const json_t *gpu = json_array_get(gpus, 0);
        if (json_integer_value(json_object_get(gpu, "memory_used_mib")) < 0 ||
            json_integer_value(json_object_get(gpu, "cores_used")) < 0)
                abort();
        json_decref(gpus);
        free(text);
}
