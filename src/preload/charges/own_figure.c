/* SPDX-License-Identifier: Apache-2.0 */
/* own_figure: NVML's list of processes, read for ourselves. */
#include "own_figure.h"

#include <sys/mman.h>

#include "devices.h"
#include "graph_charge.h"
#include "identity.h"
#include "pool_charge.h"
#include "real.h"

enum { PROCESSES_MOST = 4096, LIST_BYTES = PROCESSES_MOST * sizeof(nvmlProcessInfo_t) };

/* The caller unmaps it. NULL: the driver does not say. */
static nvmlProcessInfo_t *list_read(int ordinal, unsigned *ret_count)
{
        nvmlDevice_t device = devices_nvml(ordinal);
        unsigned count = PROCESSES_MOST;

        if (!device || !real_nvml.nvmlDeviceGetComputeRunningProcesses_v3)
                return NULL;
        nvmlProcessInfo_t *list =
                mmap(NULL, LIST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (list == MAP_FAILED)
                return NULL;
        if (real_nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, list) ==
            NVML_SUCCESS) {
                *ret_count = count;
                return list;
        }
        munmap(list, LIST_BYTES);
        return NULL;
}

static bool figure_read(int ordinal, uint64_t *ret_bytes)
{
        unsigned count = 0;
        nvmlProcessInfo_t *list = identity_is_known() ? list_read(ordinal, &count) : NULL;

        if (!list)
                return false;
        *ret_bytes = 0; /* without a context a process is not in the list */
        for (unsigned i = 0; i < count; i++)
                if (identity_is_self(list[i].pid))
                        *ret_bytes = list[i].usedGpuMemory;
        munmap(list, LIST_BYTES);
        return true;
}

bool own_figure_list(int ordinal, struct identity_entry *entries, unsigned *count)
{
        unsigned capacity = *count;
        nvmlProcessInfo_t *list = list_read(ordinal, count);

        if (!list)
                return false;
        if (*count > capacity)
                *count = capacity;
        for (unsigned i = 0; i < *count; i++)
                entries[i] = (struct identity_entry){ list[i].pid, list[i].usedGpuMemory };
        munmap(list, LIST_BYTES);
        return true;
}

static uint64_t pools_read(int ordinal)
{
        return pool_charge_reserved(ordinal) + graph_charge_reserved(ordinal);
}

bool own_figure(int ordinal, uint64_t *ret_bytes)
{
        enum { TRIES = 100 };
        uint64_t pools = pools_read(ordinal), seen, all;

        /* Another thread may wait for a stream meanwhile, and pools shrink: read until they hold still. */
        for (unsigned i = 0; i < TRIES; i++) {
                seen = pools;
                if (!figure_read(ordinal, &all))
                        return false;
                pools = pools_read(ordinal);
                if (pools == seen)
                        break;
        }
        *ret_bytes = all > pools ? all - pools : 0;
        return true;
}
