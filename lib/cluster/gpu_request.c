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

static const struct {
        const char *text;
        enum placement_policy policy;
} policies[] = { { "binpack", PLACEMENT_BINPACK },
                 { "spread", PLACEMENT_SPREAD },
                 { "none", PLACEMENT_ANY } };

static const struct {
        const char *text;
        enum placement_topology topology;
} topologies[] = { { "none", PLACEMENT_NO_TOPOLOGY },
                   { "numa", PLACEMENT_NUMA },
                   { "numa-strict", PLACEMENT_NUMA_STRICT },
                   { "link", PLACEMENT_LINK },
                   { "link-strict", PLACEMENT_LINK_STRICT } };

/* The first of the names that is there, or "". */
static const char *first_of(const json_t *annotations, const char *const *names)
{
        for (; *names; names++) {
                const char *text = json_string_value(json_object_get(annotations, *names));

                if (text)
                        return text;
        }
        return "";
}
#define FIRST_OF(annotations, ...) first_of(annotations, (const char *const[]){ __VA_ARGS__, NULL })

static void choices_read(const json_t *pod, struct gpu_request *gpu_request)
{
        const json_t *annotations = json_read_annotations(pod);
        const char *policy =
                FIRST_OF(annotations, "vgpu.io/device-policy", "nvidia.com/device-scheduler-policy",
                         "hami.io/gpu-scheduler-policy");
        const char *topology =
                FIRST_OF(annotations, "vgpu.io/topology", "nvidia.com/device-topology-mode");

        for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
                if (strcmp(policy, policies[i].text) == 0)
                        gpu_request->pod.policy = policies[i].policy;
        for (size_t i = 0; i < sizeof topologies / sizeof topologies[0]; i++)
                if (strcmp(topology, topologies[i].text) == 0)
                        gpu_request->pod.topology = topologies[i].topology;
        str_copy(gpu_request->node_policy, sizeof gpu_request->node_policy,
                 FIRST_OF(annotations, "vgpu.io/node-policy", "nvidia.com/node-scheduler-policy",
                          "hami.io/node-scheduler-policy"));
        str_copy(gpu_request->use_types, GPU_REQUEST_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/use-gpu-type", "nvidia.com/use-gputype",
                          "nvidia.com/include-gpu-type"));
        str_copy(gpu_request->avoid_types, GPU_REQUEST_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/avoid-gpu-type", "nvidia.com/nouse-gputype",
                          "nvidia.com/exclude-gpu-type"));
        str_copy(gpu_request->use_uuids, GPU_REQUEST_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/use-gpu-uuid", "nvidia.com/use-gpuuuid",
                          "nvidia.com/include-gpu-uuid"));
        str_copy(gpu_request->avoid_uuids, GPU_REQUEST_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/avoid-gpu-uuid", "nvidia.com/nouse-gpuuuid",
                          "nvidia.com/exclude-gpu-uuid"));
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
        ret_request->priority = (int32_t)json_integer_value(
                json_object_get(json_object_get(pod, "spec"), "priority"));
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
