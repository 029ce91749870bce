/* SPDX-License-Identifier: Apache-2.0 */
/* topology: how GPUs, processors and memories are near to each other. */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "nvlink.h"
#include "scope.h"
#include "target.h"

enum { BITS = CHAR_BIT * sizeof(unsigned long) };

/* Two neighbours share a PCIe switch; a NUMA node holds several of those. */
static nvmlGpuTopologyLevel_t level_between(const struct target *a, const struct target *b)
{
        if (a->index == b->index)
                return NVML_TOPOLOGY_INTERNAL;
        if (a->gpu->numa_node != b->gpu->numa_node)
                return NVML_TOPOLOGY_SYSTEM;
        return a->index / 2 == b->index / 2 ? NVML_TOPOLOGY_MULTIPLE : NVML_TOPOLOGY_NODE;
}

static nvmlReturn_t pair(nvmlDevice_t first, nvmlDevice_t second, const void *answer,
                         struct target *ret_first, struct target *ret_second)
{
        nvmlReturn_t r = target_any(first, answer, ret_first);

        return r != NVML_SUCCESS ? r : target_any(second, answer, ret_second);
}

nvmlReturn_t sim_nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                     nvmlGpuTopologyLevel_t *level)
{
        struct target a, b;
        nvmlReturn_t r = pair(first, second, level, &a, &b);

        if (r == NVML_SUCCESS)
                *level = level_between(&a, &b);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                                  unsigned int *count, nvmlDevice_t *devices)
{
        struct target t, other;
        nvmlDevice_t near[MACHINE_GPUS];
        unsigned found = 0;
        nvmlReturn_t r = target_any(device, count, &t);

        if (r != NVML_SUCCESS)
                return r;
        for (unsigned i = 0; i < t.machine->file->header.gpu_count; i++)
                if (i != t.index && target_any(target_handle(i), count, &other) == NVML_SUCCESS &&
                    level_between(&t, &other) == level)
                        near[found++] = target_handle(i);
        if (*count == 0) {
                *count = found;
                return NVML_SUCCESS;
        }
        if (target_list_fits(count, found, devices, &r))
                memcpy(devices, near, found * sizeof near[0]);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second,
                                        nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
        struct target a, b;
        nvmlReturn_t r = pair(first, second, status, &a, &b);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)index >= NVML_P2P_CAPS_INDEX_UNKNOWN)
                return NVML_ERROR_INVALID_ARGUMENT;
        bool is_linked = nvlink_count_between(a.gpu, b.index) > 0;
        bool needs_link =
                index == NVML_P2P_CAPS_INDEX_NVLINK || index == NVML_P2P_CAPS_INDEX_ATOMICS;
        if (a.gpu->mig_mode || b.gpu->mig_mode || a.gpu->brand == NVML_BRAND_GEFORCE)
                *status = NVML_P2P_STATUS_NOT_SUPPORTED;
        else
                *status = needs_link && !is_linked ? NVML_P2P_STATUS_NOT_SUPPORTED
                                                   : NVML_P2P_STATUS_OK;
        return NVML_SUCCESS;
}

/* Sets the bits of a kernel list such as "0-3,8"; those beyond the set are dropped. */
static void set_from_list(const char *list, unsigned long *set, unsigned words)
{
        while (*list) {
                char *end;
                unsigned long first = strtoul(list, &end, 10), last = first;
                if (end == list)
                        return;
                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                for (; first <= last && first < (unsigned long)words * BITS; first++)
                        set[first / BITS] |= 1ul << first % BITS;
                list = *end == ',' ? end + 1 : end + strlen(end);
        }
}

/* Processors of the host near the GPU: those of its node, or all where the host has none such. */
static nvmlReturn_t cpus_near(const struct target *t, unsigned words, unsigned long *set)
{
        autofree char *list = NULL;
        char path[80];

        memset(set, 0, words * sizeof *set);
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", t->gpu->numa_node);
        if (file_read(path, &list) < 0 && file_read("/sys/devices/system/cpu/online", &list) < 0)
                return NVML_ERROR_UNKNOWN;
        set_from_list(list, set, words);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words,
                                                     unsigned long *set, nvmlAffinityScope_t scope)
{
        struct target t;
        nvmlReturn_t r = target_any(device, set, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (words == 0 || scope > NVML_AFFINITY_SCOPE_SOCKET)
                return NVML_ERROR_INVALID_ARGUMENT;
        return cpus_near(&t, words, set);
}

nvmlReturn_t sim_nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words,
                                          unsigned long *set)
{
        return sim_nvmlDeviceGetCpuAffinityWithinScope(device, words, set,
                                                       NVML_AFFINITY_SCOPE_NODE);
}

nvmlReturn_t sim_nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int words,
                                             unsigned long *set, nvmlAffinityScope_t scope)
{
        struct target t;
        nvmlReturn_t r = target_any(device, set, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (words == 0 || scope > NVML_AFFINITY_SCOPE_SOCKET)
                return NVML_ERROR_INVALID_ARGUMENT;
        memset(set, 0, words * sizeof *set);
        unsigned node = t.gpu->numa_node < 0 ? 0 : (unsigned)t.gpu->numa_node;
        if (node < words * BITS)
                set[node / BITS] |= 1ul << node % BITS;
        return NVML_SUCCESS;
}

/* Only where the GPU's own memory is a NUMA node of the host. */
nvmlReturn_t sim_nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int *node)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, node, &t);

        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t bind_thread(const unsigned long *set, unsigned words)
{
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        for (unsigned i = 0; i < words * BITS && i < CPU_SETSIZE; i++)
                if (set[i / BITS] >> i % BITS & 1)
                        CPU_SET(i, &cpus);
        return sched_setaffinity(0, sizeof cpus, &cpus) == 0 ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t sim_nvmlDeviceSetCpuAffinity(nvmlDevice_t device)
{
        unsigned long set[CPU_SETSIZE / BITS];
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r == NVML_SUCCESS)
                r = cpus_near(&t, sizeof set / sizeof set[0], set);
        return r == NVML_SUCCESS ? bind_thread(set, sizeof set / sizeof set[0]) : r;
}

nvmlReturn_t sim_nvmlDeviceClearCpuAffinity(nvmlDevice_t device)
{
        unsigned long set[CPU_SETSIZE / BITS];
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        memset(set, 0xff, sizeof set);
        return r == NVML_SUCCESS ? bind_thread(set, sizeof set / sizeof set[0]) : r;
}

nvmlReturn_t sim_nvmlSystemGetTopologyGpuSet(unsigned int cpu, unsigned int *count,
                                             nvmlDevice_t *devices)
{
        nvmlDevice_t near[MACHINE_GPUS];
        unsigned found = 0;
        nvmlReturn_t r = NVML_SUCCESS;

        if (!count)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < session_machine()->file->header.gpu_count; i++) {
                unsigned long set[CPU_SETSIZE / BITS];
                struct target t;
                if (cpu < CPU_SETSIZE && target_any(target_handle(i), count, &t) == NVML_SUCCESS &&
                    cpus_near(&t, sizeof set / sizeof set[0], set) == NVML_SUCCESS &&
                    set[cpu / BITS] >> cpu % BITS & 1)
                        near[found++] = target_handle(i);
        }
        if (*count == 0) {
                *count = found;
                return NVML_SUCCESS;
        }
        if (target_list_fits(count, found, devices, &r))
                memcpy(devices, near, found * sizeof near[0]);
        return r;
}
