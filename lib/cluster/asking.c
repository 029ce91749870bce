/* What a pod asks of a node's GPUs. */
#include "asking.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

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

static void choices_read(const json_t *pod, struct asking *asking)
{
        const json_t *annotations =
                json_object_get(json_object_get(pod, "metadata"), "annotations");
        const char *policy =
                FIRST_OF(annotations, "vgpu.io/device-policy", "nvidia.com/device-scheduler-policy",
                         "hami.io/gpu-scheduler-policy");
        const char *topology =
                FIRST_OF(annotations, "vgpu.io/topology", "nvidia.com/device-topology-mode");

        for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
                if (strcmp(policy, policies[i].text) == 0)
                        asking->pod.policy = policies[i].policy;
        for (size_t i = 0; i < sizeof topologies / sizeof topologies[0]; i++)
                if (strcmp(topology, topologies[i].text) == 0)
                        asking->pod.topology = topologies[i].topology;
        str_copy(asking->node_policy, sizeof asking->node_policy,
                 FIRST_OF(annotations, "vgpu.io/node-policy", "nvidia.com/node-scheduler-policy",
                          "hami.io/node-scheduler-policy"));
        str_copy(asking->use_types, ASKING_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/use-gpu-type", "nvidia.com/use-gputype",
                          "nvidia.com/include-gpu-type"));
        str_copy(asking->avoid_types, ASKING_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/avoid-gpu-type", "nvidia.com/nouse-gputype",
                          "nvidia.com/exclude-gpu-type"));
        str_copy(asking->use_uuids, ASKING_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/use-gpu-uuid", "nvidia.com/use-gpuuuid",
                          "nvidia.com/include-gpu-uuid"));
        str_copy(asking->avoid_uuids, ASKING_CHOICE,
                 FIRST_OF(annotations, "vgpu.io/avoid-gpu-uuid", "nvidia.com/nouse-gpuuuid",
                          "nvidia.com/exclude-gpu-uuid"));
}

static int need_add(struct asking *asking, const struct pod_walk *walk,
                    const struct request *request, struct err *e)
{
        const unsigned i = asking->pod.need_count;

        if (request->values[RESOURCE_COUNT] == 0)
                return 0;
        if (i == PLACEMENT_NEEDS)
                return err_set(e, -EINVAL, "more than %d of its containers ask for GPUs",
                               PLACEMENT_NEEDS);
        asking->pod.needs[i] = (struct placement_need){
                .phase = walk->is_sidecar ? PLACEMENT_SIDECAR
                         : walk->is_init  ? PLACEMENT_INIT
                                          : PLACEMENT_APP,
                .count = (unsigned)request->values[RESOURCE_COUNT],
                .memory_mib = request->values[RESOURCE_MEMORY],
                .memory_percent = (unsigned)request->values[RESOURCE_MEMORY_PERCENT],
                .cores = (unsigned)request->values[RESOURCE_CORES],
                .is_in_units = request_is_in_units(request),
        };
        str_copy(asking->containers[i], ASKING_NAME, pod_request_name(walk->container));
        asking->pod.need_count++;
        return 0;
}

int asking_read(const json_t *pod, bool with_gpu, struct asking *ret_asking, struct err *e)
{
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "" };

        memset(ret_asking, 0, sizeof *ret_asking);
        while (pod_walk_next(&walk)) {
                struct request request;
                int r = pod_request_read(walk.container, with_gpu, &request, e);

                if (r == 0)
                        r = need_add(ret_asking, &walk, &request, e);
                if (r < 0)
                        return r;
        }
        ret_asking->priority = (int32_t)json_integer_value(
                json_object_get(json_object_get(pod, "spec"), "priority"));
        choices_read(pod, ret_asking);
        return 0;
}

/* Is one of the list's words in the text? Letters' case does not matter; neither do spaces. */
static bool list_names(const char *list, const char *text)
{
        while (*list) {
                const size_t length = strcspn(list, ",");
                size_t begin = strspn(list, " "), end = length;
                char word[ASKING_CHOICE];

                while (end > begin && list[end - 1] == ' ')
                        end--;
                if (end > begin) {
                        memcpy(word, list + begin, end - begin);
                        word[end - begin] = '\0';
                        if (strcasestr(text, word))
                                return true;
                }
                list += length + (list[length] == ',');
        }
        return false;
}

bool asking_allows(const struct asking *asking, const char *type, const char *uuid)
{
        return (!*asking->use_types || list_names(asking->use_types, type)) &&
               !list_names(asking->avoid_types, type) &&
               (!*asking->use_uuids || list_names(asking->use_uuids, uuid)) &&
               !list_names(asking->avoid_uuids, uuid);
}
