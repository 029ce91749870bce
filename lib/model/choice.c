/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod's annotations choose of scheduling and compute. */
#include "choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "placement.h"

static const struct choice_value policies[] = { { "binpack", PLACEMENT_BINPACK },
                                                { "spread", PLACEMENT_SPREAD },
                                                { "none", PLACEMENT_ANY },
                                                { NULL, 0 } };
static const struct choice_value topologies[] = {
        { "none", PLACEMENT_NO_TOPOLOGY },        { "numa", PLACEMENT_NUMA },
        { "numa-strict", PLACEMENT_NUMA_STRICT }, { "link", PLACEMENT_LINK },
        { "link-strict", PLACEMENT_LINK_STRICT }, { NULL, 0 }
};
/* A part of what a container's environment may say, see lib/contract/setting_value.c; a test compares. */
static const struct choice_value cores_policies[] = {
        { "fixed", 0 }, { "balance", 0 }, { "none", 0 }, { NULL, 0 }
};

const struct choice_row choice_rows[CHOICES] = {
        [CHOICE_NODE_POLICY] = { { "vgpu.io/node-policy", "nvidia.com/node-scheduler-policy",
                                   "hami.io/node-scheduler-policy" },
                                 policies },
        [CHOICE_DEVICE_POLICY] = { { "vgpu.io/device-policy", "nvidia.com/device-scheduler-policy",
                                     "hami.io/gpu-scheduler-policy" },
                                   policies },
        [CHOICE_TOPOLOGY] = { { "vgpu.io/topology", "nvidia.com/device-topology-mode" },
                              topologies },
        [CHOICE_CORES_POLICY] = { { "vgpu.io/cores-policy", "nvidia.com/vgpu-compute-policy" },
                                  cores_policies },
        [CHOICE_USE_TYPES] = { { "vgpu.io/use-gpu-type", "nvidia.com/use-gputype",
                                 "nvidia.com/include-gpu-type" },
                               NULL },
        [CHOICE_AVOID_TYPES] = { { "vgpu.io/avoid-gpu-type", "nvidia.com/nouse-gputype",
                                   "nvidia.com/exclude-gpu-type" },
                                 NULL },
        [CHOICE_USE_UUIDS] = { { "vgpu.io/use-gpu-uuid", "nvidia.com/use-gpuuuid",
                                 "nvidia.com/include-gpu-uuid" },
                               NULL },
        [CHOICE_AVOID_UUIDS] = { { "vgpu.io/avoid-gpu-uuid", "nvidia.com/nouse-gpuuuid",
                                   "nvidia.com/exclude-gpu-uuid" },
                                 NULL },
};

bool choice_find(const char *annotation, enum choice *ret_choice)
{
        for (int i = 0; i < CHOICES; i++)
                for (const char *const *name = choice_rows[i].annotations; *name; name++)
                        if (strcmp(annotation, *name) == 0) {
                                *ret_choice = (enum choice)i;
                                return true;
                        }
        return false;
}

int choice_parse(enum choice choice, const char *text, int *ret_value, struct err *e)
{
        const struct choice_value *values = choice_rows[choice].values;
        char list[128];
        size_t length = 0;

        *ret_value = 0;
        if (!values)
                return *text ? 0 : err_set(e, -EINVAL, "is empty");
        for (; values->text; values++) {
                if (strcmp(text, values->text) == 0) {
                        *ret_value = values->value;
                        return 0;
                }
                if (length < sizeof list)
                        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                                   length ? ", " : "", values->text);
        }
        return err_set(e, -EINVAL, "invalid value '%.40s' (expected one of: %s)", text, list);
}
