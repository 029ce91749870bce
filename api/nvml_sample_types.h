/* SPDX-License-Identifier: Apache-2.0 */
/* The structures of NVML that carry readings: processes, samples, fields, events, system state. */
#pragma once

#include <assert.h>

#include "nvml_scalar_types.h"
#include "nvml_types.h"

/* One process on a device: two generations; the third function takes the second structure. */
typedef struct nvmlProcessInfo_v1_st {
        unsigned int pid;
        unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;
static_assert(sizeof(nvmlProcessInfo_v1_t) == 16, "ABI");

typedef struct nvmlProcessInfo_v2_st {
        unsigned int pid;
        unsigned long long usedGpuMemory;
        unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_v2_t;
typedef struct nvmlProcessInfo_v2_st nvmlProcessInfo_t;
static_assert(sizeof(nvmlProcessInfo_v2_t) == 24, "ABI");

typedef struct nvmlProcessDetail_v1_st {
        unsigned int pid;
        unsigned long long usedGpuMemory;
        unsigned int gpuInstanceId, computeInstanceId;
        unsigned long long usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;
static_assert(sizeof(nvmlProcessDetail_v1_t) == 32, "ABI");

typedef struct nvmlProcessDetailList_st {
        unsigned int version;
        unsigned int mode; /* NVML_PROCESS_MODE_… */
        unsigned int numProcArrayEntries;
        nvmlProcessDetail_v1_t *procArray;
} nvmlProcessDetailList_t;
static_assert(sizeof(nvmlProcessDetailList_t) == 24, "ABI");

typedef struct nvmlProcessUtilizationSample_st {
        unsigned int pid;
        unsigned long long timeStamp;
        unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;
static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32, "ABI");

typedef struct nvmlProcessUtilizationInfo_v1_st {
        unsigned long long timeStamp;
        unsigned int pid;
        unsigned int smUtil, memUtil, encUtil, decUtil, jpgUtil, ofaUtil;
} nvmlProcessUtilizationInfo_v1_t;
static_assert(sizeof(nvmlProcessUtilizationInfo_v1_t) == 40, "ABI");

typedef struct nvmlProcessesUtilizationInfo_st {
        unsigned int version;
        unsigned int processSamplesCount;
        unsigned long long lastSeenTimeStamp;
        nvmlProcessUtilizationInfo_v1_t *procUtilArray;
} nvmlProcessesUtilizationInfo_t;
static_assert(sizeof(nvmlProcessesUtilizationInfo_t) == 24, "ABI");

typedef struct nvmlAccountingStats_st {
        unsigned int gpuUtilization, memoryUtilization;
        unsigned long long maxMemoryUsage, time, startTime;
        unsigned int isRunning;
        unsigned int reserved[5];
} nvmlAccountingStats_t;
static_assert(sizeof(nvmlAccountingStats_t) == 56, "ABI");

typedef union nvmlValue_st {
        double dVal;
        int siVal;
        unsigned int uiVal;
        unsigned long ulVal;
        unsigned long long ullVal;
        signed long long sllVal;
        unsigned short usVal;
} nvmlValue_t;
static_assert(sizeof(nvmlValue_t) == 8, "ABI");

typedef struct nvmlSample_st {
        unsigned long long timeStamp; /* microseconds since the Unix epoch */
        nvmlValue_t sampleValue;
} nvmlSample_t;
static_assert(sizeof(nvmlSample_t) == 16, "ABI");

typedef struct nvmlFieldValue_st {
        unsigned int fieldId;
        unsigned int scopeId;
        long long timestamp;
        long long latencyUsec;
        nvmlValueType_t valueType;
        nvmlReturn_t nvmlReturn;
        nvmlValue_t value;
} nvmlFieldValue_t;
static_assert(sizeof(nvmlFieldValue_t) == 40, "ABI");

/* nvmlEventSetWait fills the first, nvmlEventSetWait_v2 the second. */
typedef struct nvmlEventData_v1_st {
        nvmlDevice_t device;
        unsigned long long eventType, eventData;
} nvmlEventData_v1_t;
static_assert(sizeof(nvmlEventData_v1_t) == 24, "ABI");

typedef struct nvmlEventData_st {
        nvmlDevice_t device;
        unsigned long long eventType, eventData;
        unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;
static_assert(sizeof(nvmlEventData_t) == 32, "ABI");

typedef struct nvmlEncoderSessionInfo_st {
        unsigned int sessionId, pid;
        nvmlVgpuInstance_t vgpuInstance;
        nvmlEncoderType_t codecType;
        unsigned int hResolution, vResolution, averageFps, averageLatency;
} nvmlEncoderSessionInfo_t;
static_assert(sizeof(nvmlEncoderSessionInfo_t) == 32, "ABI");

typedef struct nvmlFBCSessionInfo_st {
        unsigned int sessionId, pid;
        nvmlVgpuInstance_t vgpuInstance;
        unsigned int displayOrdinal;
        unsigned int sessionType; /* an enum */
        unsigned int sessionFlags;
        unsigned int hMaxResolution, vMaxResolution, hResolution, vResolution;
        unsigned int averageFPS, averageLatency;
} nvmlFBCSessionInfo_t;
static_assert(sizeof(nvmlFBCSessionInfo_t) == 48, "ABI");

typedef struct nvmlFBCStats_st {
        unsigned int sessionsCount, averageFPS, averageLatency;
} nvmlFBCStats_t;
static_assert(sizeof(nvmlFBCStats_t) == 12, "ABI");

typedef struct nvmlHwbcEntry_st {
        unsigned int hwbcId;
        char firmwareVersion[32];
} nvmlHwbcEntry_t;
static_assert(sizeof(nvmlHwbcEntry_t) == 36, "ABI");

typedef struct nvmlSystemDriverBranchInfo_st {
        unsigned int version;
        char branch[80];
} nvmlSystemDriverBranchInfo_t;
static_assert(sizeof(nvmlSystemDriverBranchInfo_t) == 84, "ABI");

typedef struct nvmlConfComputeSystemCaps_st {
        unsigned int cpuCaps, gpusCaps;
} nvmlConfComputeSystemCaps_t;
static_assert(sizeof(nvmlConfComputeSystemCaps_t) == 8, "ABI");

typedef struct nvmlConfComputeSystemState_st {
        unsigned int environment, ccFeature, devToolsMode;
} nvmlConfComputeSystemState_t;
static_assert(sizeof(nvmlConfComputeSystemState_t) == 12, "ABI");

typedef struct nvmlSystemConfComputeSettings_st {
        unsigned int version;
        unsigned int environment, ccFeature, devToolsMode, multiGpuMode;
} nvmlSystemConfComputeSettings_t;
static_assert(sizeof(nvmlSystemConfComputeSettings_t) == 20, "ABI");

typedef struct nvmlConfComputeMemSizeInfo_st {
        unsigned long long protectedMemSizeKib, unprotectedMemSizeKib;
} nvmlConfComputeMemSizeInfo_t;
static_assert(sizeof(nvmlConfComputeMemSizeInfo_t) == 16, "ABI");

/* Performance counters between two samples. Libraries differ in how many entries the array has:
 * only the first numMetrics are ever touched. */
typedef struct nvmlGpmMetric_st {
        unsigned int metricId;
        nvmlReturn_t nvmlReturn;
        double value;
        struct {
                char *shortName, *longName, *unit;
        } metricInfo;
} nvmlGpmMetric_t;
static_assert(sizeof(nvmlGpmMetric_t) == 40, "ABI");

typedef struct nvmlGpmMetricsGet_st {
        unsigned int version;
        unsigned int numMetrics;
        nvmlGpmSample_t sample1, sample2;
        nvmlGpmMetric_t metrics[];
} nvmlGpmMetricsGet_t;
static_assert(sizeof(nvmlGpmMetricsGet_t) == 24, "ABI");

typedef struct nvmlGpmSupport_st {
        unsigned int version;
        unsigned int isSupportedDevice;
} nvmlGpmSupport_t;
static_assert(sizeof(nvmlGpmSupport_t) == 8, "ABI");

/* Licences, as a GPU without any answers. The first three versions are smaller. */
typedef struct nvmlGridLicensableFeatures_st {
        int isGridLicenseSupported;
        unsigned int licensableFeaturesCount;
} nvmlGridLicensableFeatures_t;
static_assert(sizeof(nvmlGridLicensableFeatures_t) == 8, "the common beginning");
