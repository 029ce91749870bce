/* SPDX-License-Identifier: Apache-2.0 */
/* Loading NVML by name: vgpu-node must start where there is no driver yet. */
#include "nvml.h"

#include "linkage.h"
#include "nearby.h"

/* MIG is there where all three are: who finds `mig` may call the others. */
static void load_mig(void *library, struct nvml *nvml)
{
        const struct linkage_row rows[] = {
                { &nvml->mig, "nvmlDeviceGetMigMode" },
                { &nvml->mig_count, "nvmlDeviceGetMaxMigDeviceCount" },
                { &nvml->mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex" },
        };

        if (linkage_find(library, rows, sizeof rows / sizeof *rows))
                nvml->mig = NULL;
}

/* Not every driver has them: then GPUs are chosen, and tenants audited, without. */
static void load_optional(void *library, struct nvml *nvml)
{
        const struct linkage_row rows[] = {
                { &nvml->processes, "nvmlDeviceGetComputeRunningProcesses_v3" },
                { &nvml->processes_that_draw, "nvmlDeviceGetGraphicsRunningProcesses_v3" },
                { &nvml->processes_of_mps, "nvmlDeviceGetMPSComputeRunningProcesses_v3" },
                { &nvml->process_use, "nvmlDeviceGetProcessUtilization" },
                { &nvml->samples, "nvmlDeviceGetSamples" },
                { &nvml->memories, "nvmlDeviceGetMemoryAffinity" },
                { &nvml->topology, "nvmlDeviceGetTopologyCommonAncestor" },
                { &nvml->p2p, "nvmlDeviceGetP2PStatus" },
                { &nvml->nvlink_state, "nvmlDeviceGetNvLinkState" },
                { &nvml->nvlink_far, "nvmlDeviceGetNvLinkRemotePciInfo_v2" },
        };

        linkage_find(library, rows, sizeof rows / sizeof *rows);
}

bool nvml_load(struct nvml *ret_nvml)
{
        struct nvml nvml = { 0 };
        const struct linkage_row rows[] = {
                { &nvml.init, "nvmlInit_v2" },
                { &nvml.shutdown, "nvmlShutdown" },
                { &nvml.count, "nvmlDeviceGetCount_v2" },
                { &nvml.handle, "nvmlDeviceGetHandleByIndex_v2" },
                { &nvml.uuid, "nvmlDeviceGetUUID" },
                { &nvml.name, "nvmlDeviceGetName" },
                { &nvml.memory, "nvmlDeviceGetMemoryInfo" },
                { &nvml.pci, "nvmlDeviceGetPciInfo_v3" },
                { &nvml.capability, "nvmlDeviceGetCudaComputeCapability" },
                { &nvml.index, "nvmlDeviceGetIndex" },
                { &nvml.utilization, "nvmlDeviceGetUtilizationRates" },
                { &nvml.events_create, "nvmlEventSetCreate" },
                { &nvml.events_free, "nvmlEventSetFree" },
                { &nvml.events_register, "nvmlDeviceRegisterEvents" },
                { &nvml.events_wait, "nvmlEventSetWait_v2" },
        };
        void *library = nearby_driver("libnvidia-ml.so.1");

        if (!library || linkage_find(library, rows, sizeof rows / sizeof *rows))
                return false;
        load_mig(library, &nvml);
        load_optional(library, &nvml);
        *ret_nvml = nvml;
        return true;
}
