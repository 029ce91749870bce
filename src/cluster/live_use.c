/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Prometheus' text: NAME{label="value",…} NUMBER. */
#include "live_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "str.h"

#define MEMORY "vgpu_container_memory_used_bytes{"
#define CORES  "vgpu_container_cores_used_ratio{"

enum { LABEL = 300 };

/* Is that label in the line, with this value? Names of Kubernetes need no escapes. */
static bool has_label(const char *line, size_t length, const char *label, const char *value)
{
        char wanted[LABEL + 64];
        const size_t count =
                (size_t)snprintf(wanted, sizeof wanted, "%s=\"%.*s\"", label, LABEL, value);
        const char *at = line;

        while ((at = memmem(at, length - (size_t)(at - line), wanted, count))) {
                if (at[-1] == '{' || at[-1] == ',')
                        return true;
                at++;
        }
        return false;
}

static json_t *gpu_of(const char *line, size_t length, json_t *gpus)
{
        json_t *gpu;
        size_t i;

        json_array_foreach (gpus, i, gpu) {
                const char *container = json_read_text_or_null(gpu, "container");
                const char *uuid = json_read_text_or_null(gpu, "uuid");

                if (container && uuid && has_label(line, length, "container", container) &&
                    has_label(line, length, "device_uuid", uuid))
                        return gpu;
        }
        return NULL;
}

static size_t line_take(const char *line, size_t length, const char *namespace_name,
                        const char *pod, json_t *gpus)
{
        const bool is_memory = str_starts_with(line, MEMORY);
        const char *end = memrchr(line, '}', length);

        if ((!is_memory && !str_starts_with(line, CORES)) || !end ||
            !has_label(line, length, "namespace", namespace_name) ||
            !has_label(line, length, "pod", pod))
                return 0;
        json_t *gpu = gpu_of(line, length, gpus);
        const double value = strtod(end + 1, NULL);

        if (!gpu || !(value >= 0 && value < 1e18))
                return 0;
        if (is_memory)
                json_object_set_new(gpu, "memory_used_mib",
                                    json_integer((json_int_t)(value / (1 << 20) + 0.5)));
        else
                json_object_set_new(gpu, "cores_used_percent", json_real(value * 100));
        return is_memory;
}

size_t live_use_add(const char *metrics, const char *namespace_name, const char *pod, json_t *gpus)
{
        size_t found = 0;

        for (const char *line = metrics; *line;) {
                const size_t length = strcspn(line, "\n");

                found += line_take(line, length, namespace_name, pod, gpus);
                line += length + (line[length] == '\n');
        }
        return found;
}
