/* Loading NVML by name: vgpu-node must start where there is no driver yet. */
#include "nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* All three or none: a driver has MIG or has it not. */
static void load_mig(void *library, struct nvml *nvml)
{
        void *mode = dlsym(library, "nvmlDeviceGetMigMode");
        void *count = dlsym(library, "nvmlDeviceGetMaxMigDeviceCount");
        void *handle = dlsym(library, "nvmlDeviceGetMigDeviceHandleByIndex");

        if (!mode || !count || !handle)
                return;
        memcpy(&nvml->mig, &mode, sizeof mode);
        memcpy(&nvml->mig_count, &count, sizeof count);
        memcpy(&nvml->mig_handle, &handle, sizeof handle);
}

/* Not every driver has them: then cards are chosen, and tenants checked, without. */
static void load_optional(void *library, struct nvml *nvml)
{
        const struct {
                void *to;
                const char *name;
        } rows[] = {
                { &nvml->processes, "nvmlDeviceGetComputeRunningProcesses_v3" },
                { &nvml->process_use, "nvmlDeviceGetProcessUtilization" },
                { &nvml->memories, "nvmlDeviceGetMemoryAffinity" },
                { &nvml->topology, "nvmlDeviceGetTopologyCommonAncestor" },
                { &nvml->p2p, "nvmlDeviceGetP2PStatus" },
                { &nvml->nvlink_state, "nvmlDeviceGetNvLinkState" },
                { &nvml->nvlink_far, "nvmlDeviceGetNvLinkRemotePciInfo_v2" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                void *function = dlsym(library, rows[i].name);

                memcpy(rows[i].to, &function, sizeof function);
        }
}

bool nvml_load(struct nvml *ret_nvml)
{
        struct nvml nvml = { 0 };
        const struct {
                void *to;
                const char *name;
        } rows[] = {
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
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        void *function;

        if (!library)
                return false;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                function = dlsym(library, rows[i].name);
                if (!function)
                        return false;
                memcpy(rows[i].to, &function, sizeof function);
        }
        load_mig(library, &nvml);
        load_optional(library, &nvml);
        *ret_nvml = nvml;
        return true;
}
