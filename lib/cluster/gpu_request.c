/* SPDX-License-Identifier: Apache-2.0 */
/* From a pod's object to its request for GPUs. */
#include "gpu_request.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "json_read.h"
#include "pod.h"
#include "pod_request.h"
#include "str.h"

static void text_read(const json_t *pod, enum choice choice, char to[static GPU_REQUEST_CHOICE])
{
        const char *text = pod_choice(pod, choice, NULL);

        str_copy(to, GPU_REQUEST_CHOICE, text ? text : "");
}

/* 0: not chosen. What admission would have refused is not, either. */
static int value_read(const json_t *pod, enum choice choice)
{
        const char *text = pod_choice(pod, choice, NULL);
        int value = 0;

        return text && choice_parse(choice, text, &value, NULL) == 0 ? value : 0;
}

static void choices_read(const json_t *pod, struct gpu_request *gpu_request)
{
        gpu_request->node_policy = (enum placement_policy)value_read(pod, CHOICE_NODE_POLICY);
        gpu_request->pod.policy = (enum placement_policy)value_read(pod, CHOICE_DEVICE_POLICY);
        gpu_request->pod.topology = (enum placement_topology)value_read(pod, CHOICE_TOPOLOGY);
        text_read(pod, CHOICE_USE_TYPES, gpu_request->use_types);
        text_read(pod, CHOICE_AVOID_TYPES, gpu_request->avoid_types);
        text_read(pod, CHOICE_USE_UUIDS, gpu_request->use_uuids);
        text_read(pod, CHOICE_AVOID_UUIDS, gpu_request->avoid_uuids);
}

static int need_add(struct gpu_request *gpu_request, const struct pod_walk *walk,
                    const struct request *request, struct err *e)
{
        const unsigned i = gpu_request->pod.need_count;

        if (request->values[RESOURCE_COUNT] == 0)
                return 0;
        if (i == PLACEMENT_NEEDS)
                return err_set(e, -EINVAL, "more than %d of its containers ask for GPUs",
                               PLACEMENT_NEEDS);
        gpu_request->pod.needs[i] = (struct placement_need){
                .phase = walk->phase,
                .count = (unsigned)request->values[RESOURCE_COUNT],
                .memory_mib = request->values[RESOURCE_MEMORY],
                .memory_percent = (unsigned)request->values[RESOURCE_MEMORY_PERCENT],
                .cores = (unsigned)request->values[RESOURCE_CORES],
                .is_in_units = request_is_in_units(request),
        };
        str_copy(gpu_request->containers[i], GPU_REQUEST_NAME, pod_request_name(walk->container));
        gpu_request->pod.need_count++;
        return 0;
}

int gpu_request_read(const json_t *pod, bool with_gpu, struct gpu_request *ret_request,
                     struct err *e)
{
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "" };

        memset(ret_request, 0, sizeof *ret_request);
        while (pod_walk_next(&walk)) {
                struct request request;
                int r = pod_request_read(walk.container, with_gpu, &request, e);

                if (r == 0)
                        r = need_add(ret_request, &walk, &request, e);
                if (r < 0)
                        return r;
        }
        ret_request->priority =
                (int32_t)json_read_integer(json_object_get(pod, "spec"), "priority");
        choices_read(pod, ret_request);
        return 0;
}

/* True: an item of the list is in the text. Neither case nor spaces matter. */
static bool list_names(const char *list, const char *text)
{
        while (*list) {
                const size_t length = strcspn(list, ",");
                size_t begin = strspn(list, " "), end = length;
                char choice[GPU_REQUEST_CHOICE];

                while (end > begin && list[end - 1] == ' ')
                        end--;
                if (end > begin) {
                        memcpy(choice, list + begin, end - begin);
                        choice[end - begin] = '\0';
                        if (strcasestr(text, choice))
                                return true;
                }
                list += length + (list[length] == ',');
        }
        return false;
}

bool gpu_request_allows(const struct gpu_request *gpu_request, const char *type, const char *uuid)
{
        return (!*gpu_request->use_types || list_names(gpu_request->use_types, type)) &&
               !list_names(gpu_request->avoid_types, type) &&
               (!*gpu_request->use_uuids || list_names(gpu_request->use_uuids, uuid)) &&
               !list_names(gpu_request->avoid_uuids, uuid);
}

enum placement_policy gpu_request_node_policy(const struct gpu_request *gpu_request,
                                              enum placement_policy usual)
{
        return gpu_request->node_policy ? gpu_request->node_policy : usual;
}
