/* Annotations on pods. */
#include "annotation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "quantity.h"

enum form { FREE_TEXT, NODE_POLICY, CORES_POLICY, TOPOLOGY, SIZE, PERCENT };

static const char *const policies[] = { "binpack", "spread", "none", NULL };
static const char *const cores_policies[] = { "fixed", "balance", "none", NULL };
static const char *const topologies[] = {
        "none", "numa", "numa-strict", "link", "link-strict", NULL
};

/* Written by our programs; the second group by Volcano's scheduler, whose decision we honour. */
static const char *const ours[] = { "vgpu.io/allocation", "vgpu.io/nominated-node",
                                    ANNOTATION_CONTAINER_UUIDS, ANNOTATION_SEAL, NULL };
static const char *const volcano_annotations[] = { "volcano.sh/vgpu-ids-new",
                                                   "volcano.sh/devices-to-allocate",
                                                   "volcano.sh/vgpu-node",
                                                   "volcano.sh/vgpu-time",
                                                   "volcano.sh/bind-phase",
                                                   "volcano.sh/bind-time",
                                                   NULL };

/* One row per name a pod may carry, ours and the families'. */
static const struct {
        const char *name;
        enum form form;
} rows[] = {
        { "vgpu.io/node-policy", NODE_POLICY },
        { "nvidia.com/node-scheduler-policy", NODE_POLICY },
        { "hami.io/node-scheduler-policy", NODE_POLICY },
        { "vgpu.io/device-policy", NODE_POLICY },
        { "nvidia.com/device-scheduler-policy", NODE_POLICY },
        { "hami.io/gpu-scheduler-policy", NODE_POLICY },
        { "vgpu.io/cores-policy", CORES_POLICY },
        { "nvidia.com/vgpu-compute-policy", CORES_POLICY },
        { "vgpu.io/topology", TOPOLOGY },
        { "nvidia.com/device-topology-mode", TOPOLOGY },
        { "vgpu.io/use-gpu-type", FREE_TEXT },
        { "vgpu.io/avoid-gpu-type", FREE_TEXT },
        { "vgpu.io/use-gpu-uuid", FREE_TEXT },
        { "vgpu.io/avoid-gpu-uuid", FREE_TEXT },
        { "nvidia.com/use-gputype", FREE_TEXT },
        { "nvidia.com/nouse-gputype", FREE_TEXT },
        { "nvidia.com/use-gpuuuid", FREE_TEXT },
        { "nvidia.com/nouse-gpuuuid", FREE_TEXT },
        { "nvidia.com/include-gpu-type", FREE_TEXT },
        { "nvidia.com/exclude-gpu-type", FREE_TEXT },
        { "nvidia.com/include-gpu-uuid", FREE_TEXT },
        { "nvidia.com/exclude-gpu-uuid", FREE_TEXT },
        { "vgpu.io/memory", SIZE },
        { "vgpu.io/memory-max", SIZE },
        { "vgpu.io/cores", PERCENT },
        { "vgpu.io/cores-max", PERCENT },
};

static bool is_in_list(const char *text, const char *const *list)
{
        for (; *list; list++)
                if (strcmp(text, *list) == 0)
                        return true;
        return false;
}

bool annotation_is_of_volcano(const char *name)
{
        return is_in_list(name, volcano_annotations);
}

bool annotation_is_reserved(const char *name)
{
        return is_in_list(name, ours) || is_in_list(name, volcano_annotations);
}

bool annotation_is_ceiling(const char *name)
{
        return strcmp(name, "vgpu.io/memory-max") == 0 || strcmp(name, "vgpu.io/cores-max") == 0;
}

static int form_check(enum form form, const char *text, struct err *e)
{
        uint64_t bytes;
        unsigned percent;

        switch (form) {
        case NODE_POLICY:
                return is_in_list(text, policies)
                               ? 0
                               : err_set(e, -EINVAL, "'%.40s' is none of binpack, spread, none",
                                         text);
        case CORES_POLICY:
                return is_in_list(text, cores_policies)
                               ? 0
                               : err_set(e, -EINVAL, "'%.40s' is none of fixed, balance, none",
                                         text);
        case TOPOLOGY:
                return is_in_list(text, topologies)
                               ? 0
                               : err_set(e, -EINVAL,
                                         "'%.40s' is none of none, numa, numa-strict, link, "
                                         "link-strict",
                                         text);
        case SIZE:
                return quantity_parse_bytes(text, &bytes, e);
        case PERCENT:
                return quantity_parse_percent(text, "cores", &percent, e);
        default:
                return *text ? 0 : err_set(e, -EINVAL, "is empty");
        }
}

int annotation_check(const char *name, const json_t *value, struct err *e)
{
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                if (strcmp(name, rows[i].name) != 0)
                        continue;
                if (!json_is_string(value))
                        return err_set(e, -EINVAL, "annotation %s is not a text", name);
                if (form_check(rows[i].form, json_string_value(value), e) < 0)
                        return err_context(e, -EINVAL, name);
        }
        return 0;
}

static bool size_get(const json_t *annotations, const char *name, uint64_t *ret_bytes)
{
        const char *text = json_string_value(json_object_get(annotations, name));

        return text && quantity_parse_bytes(text, ret_bytes, NULL) == 0;
}

static bool percent_get(const json_t *annotations, const char *name, unsigned *ret_percent)
{
        const char *text = json_string_value(json_object_get(annotations, name));

        return text && quantity_parse_percent(text, "cores", ret_percent, NULL) == 0;
}

int annotation_check_resize(const json_t *annotations, uint64_t requested_bytes,
                            unsigned requested_cores, struct err *e)
{
        uint64_t bytes, most_bytes = requested_bytes;
        unsigned cores, most_cores = requested_cores;

        size_get(annotations, "vgpu.io/memory-max", &most_bytes);
        percent_get(annotations, "vgpu.io/cores-max", &most_cores);
        if (size_get(annotations, "vgpu.io/memory", &bytes) && most_bytes && bytes > most_bytes)
                return err_set(e, -EINVAL,
                               "vgpu.io/memory of %" PRIu64 " MiB is over the ceiling of %" PRIu64
                               " MiB (vgpu.io/memory-max, or what the pod asked for)",
                               bytes >> 20, most_bytes >> 20);
        if (percent_get(annotations, "vgpu.io/cores", &cores) && most_cores && cores > most_cores)
                return err_set(e, -EINVAL,
                               "vgpu.io/cores of %u is over the ceiling of %u "
                               "(vgpu.io/cores-max, or what the pod asked for)",
                               cores, most_cores);
        return 0;
}
