/* SPDX-License-Identifier: Apache-2.0 */
/* Links between GPUs, by NVML. */
#include "gpu_links.h"

#include <string.h>
#include <strings.h>

enum { NVLINKS_MOST = 18 };

/* By PCIe alone. */
static uint8_t path_of(const struct nvml *nvml, nvmlDevice_t one, nvmlDevice_t other)
{
        nvmlGpuTopologyLevel_t level;

        if (!nvml->topology || nvml->topology(one, other, &level) != NVML_SUCCESS)
                return 0;
        if (level < NVML_TOPOLOGY_SINGLE)
                return GPU_LINK_BOARD;
        if (level < NVML_TOPOLOGY_MULTIPLE)
                return GPU_LINK_SWITCH;
        if (level < NVML_TOPOLOGY_HOSTBRIDGE)
                return GPU_LINK_SWITCHES;
        return level < NVML_TOPOLOGY_NODE ? GPU_LINK_BRIDGE : 0;
}

/* How many NVLinks are up, and how many of them end at that bus. */
static unsigned nvlinks_count(const struct nvml *nvml, nvmlDevice_t device, const char *bus_id,
                              unsigned *ret_direct)
{
        unsigned active = 0;

        *ret_direct = 0;
        for (unsigned link = 0; link < NVLINKS_MOST; link++) {
                nvmlEnableState_t is_active;
                nvmlPciInfo_t far = { 0 };

                if (nvml->nvlink_state(device, link, &is_active) != NVML_SUCCESS || !is_active)
                        continue;
                active++;
                if (nvml->nvlink_far(device, link, &far) == NVML_SUCCESS &&
                    strcasecmp(far.busIdLegacy, bus_id) == 0)
                        ++*ret_direct;
        }
        return active;
}

/* Straight, or all of them through the switch where there is one. */
static unsigned nvlinks_between(const struct nvml *nvml, nvmlDevice_t one, nvmlDevice_t other,
                                const char *other_bus_id)
{
        nvmlGpuP2PStatus_t status;
        unsigned direct, active;

        if (!nvml->nvlink_state || !nvml->nvlink_far || !nvml->p2p)
                return 0;
        active = nvlinks_count(nvml, one, other_bus_id, &direct);
        if (direct || !active)
                return direct;
        return nvml->p2p(one, other, NVML_P2P_CAPS_INDEX_NVLINK, &status) == NVML_SUCCESS &&
                               status == NVML_P2P_STATUS_OK
                       ? active
                       : 0;
}

void gpu_links_read(const struct nvml *nvml, struct gpu_set *set)
{
        nvmlDevice_t devices[GPUS_MOST];

        memset(set->links, 0, sizeof set->links);
        for (unsigned i = 0; i < set->count; i++)
                if (nvml->handle(set->gpus[i].index, &devices[i]) != NVML_SUCCESS)
                        return;
        for (unsigned i = 0; i < set->count; i++) {
                for (unsigned j = 0; j < i; j++) {
                        const unsigned nvlinks =
                                nvlinks_between(nvml, devices[i], devices[j], set->gpus[j].bus_id);
                        const uint8_t link = nvlinks ? (uint8_t)(GPU_LINK_NVLINK + nvlinks)
                                                     : path_of(nvml, devices[i], devices[j]);

                        set->links[i][j] = set->links[j][i] = link;
                }
        }
}
