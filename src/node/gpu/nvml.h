/* SPDX-License-Identifier: Apache-2.0 */
/* nvml: the driver's functions that we call, from the libnvidia-ml.so.1 that is there. */
#pragma once

#include <stdbool.h>

#include "nvml_prototypes.h"

struct nvml {
        __typeof__(nvmlInit_v2) *init;
        __typeof__(nvmlShutdown) *shutdown;
        __typeof__(nvmlDeviceGetCount_v2) *count;
        __typeof__(nvmlDeviceGetHandleByIndex_v2) *handle;
        __typeof__(nvmlDeviceGetUUID) *uuid;
        __typeof__(nvmlDeviceGetName) *name;
        __typeof__(nvmlDeviceGetMemoryInfo) *memory;
        __typeof__(nvmlDeviceGetPciInfo_v3) *pci;
        __typeof__(nvmlDeviceGetCudaComputeCapability) *capability;
        __typeof__(nvmlDeviceGetIndex) *index;
        __typeof__(nvmlEventSetCreate) *events_create;
        __typeof__(nvmlEventSetFree) *events_free;
        __typeof__(nvmlDeviceRegisterEvents) *events_register;
        __typeof__(nvmlEventSetWait_v2) *events_wait;
        __typeof__(nvmlDeviceGetMigMode) *mig;                       /* NULL: a driver before MIG */
        __typeof__(nvmlDeviceGetMaxMigDeviceCount) *mig_count;       /* as mig */
        __typeof__(nvmlDeviceGetMigDeviceHandleByIndex) *mig_handle; /* as mig */
        __typeof__(nvmlDeviceGetUtilizationRates) *utilization;
        /* NULL where the driver has none: who is on a GPU. */
        __typeof__(nvmlDeviceGetComputeRunningProcesses_v3) *processes;
        __typeof__(nvmlDeviceGetGraphicsRunningProcesses_v3)
                *processes_that_draw; /* as processes */
        __typeof__(nvmlDeviceGetMPSComputeRunningProcesses_v3) *processes_of_mps;
        __typeof__(nvmlDeviceGetProcessUtilization) *process_use;
        __typeof__(nvmlDeviceGetSamples) *samples; /* NULL where the driver has none */
        /* NULL where the driver has none: where GPUs sit, and how they reach each other. */
        __typeof__(nvmlDeviceGetMemoryAffinity) *memories;
        __typeof__(nvmlDeviceGetTopologyCommonAncestor) *topology;
        __typeof__(nvmlDeviceGetP2PStatus) *p2p;
        __typeof__(nvmlDeviceGetNvLinkState) *nvlink_state;
        __typeof__(nvmlDeviceGetNvLinkRemotePciInfo_v2) *nvlink_far;
};

/* false: there is no driver, or it is older than any that we know. */
bool nvml_load(struct nvml *ret_nvml);
