/* SPDX-License-Identifier: Apache-2.0 */
/* The structures of NVML that describe a device. A structure that grew has one declaration per
 * version, and the sizes are asserted: a caller's smaller one must never be overrun. */
#pragma once

#include <assert.h>

#include "nvml_scalar_types.h"
#include "nvml_types.h"

/* The word at the start of a versioned structure. */
#define NVML_VERSION_OF(type, number) ((unsigned)sizeof(type) | (number##u << 24))

/* The address of a device on the bus: three generations. */
typedef struct nvmlPciInfo_v1_st {
        char busId[16];
        unsigned int domain, bus, device;
        unsigned int pciDeviceId;
} nvmlPciInfo_v1_t;
static_assert(sizeof(nvmlPciInfo_v1_t) == 32, "ABI");

typedef struct nvmlPciInfo_v2_st {
        char busId[16];
        unsigned int domain, bus, device;
        unsigned int pciDeviceId, pciSubSystemId;
        unsigned int reserved[4];
} nvmlPciInfo_v2_t;
static_assert(sizeof(nvmlPciInfo_v2_t) == 52, "ABI");

typedef struct nvmlPciInfo_st {
        char busIdLegacy[16];
        unsigned int domain, bus, device;
        unsigned int pciDeviceId, pciSubSystemId;
        char busId[32];
} nvmlPciInfo_t;
static_assert(sizeof(nvmlPciInfo_t) == 68, "ABI");

typedef struct nvmlPciInfoExt_st {
        unsigned int version;
        unsigned int domain, bus, device;
        unsigned int pciDeviceId, pciSubSystemId;
        unsigned int baseClass, subClass;
        char busId[32];
} nvmlPciInfoExt_t;
static_assert(sizeof(nvmlPciInfoExt_t) == 64, "ABI");

typedef struct nvmlExcludedDeviceInfo_st {
        nvmlPciInfo_t pciInfo;
        char uuid[80];
} nvmlExcludedDeviceInfo_t;
static_assert(sizeof(nvmlExcludedDeviceInfo_t) == 148, "ABI");

typedef struct nvmlMemory_st {
        unsigned long long total, free, used;
} nvmlMemory_t;
static_assert(sizeof(nvmlMemory_t) == 24, "ABI");

typedef struct nvmlMemory_v2_st {
        unsigned int version;
        unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
static_assert(sizeof(nvmlMemory_v2_t) == 40, "ABI");

typedef struct nvmlBAR1Memory_st {
        unsigned long long bar1Total, bar1Free, bar1Used;
} nvmlBAR1Memory_t;
static_assert(sizeof(nvmlBAR1Memory_t) == 24, "ABI");

typedef struct nvmlUtilization_st {
        unsigned int gpu, memory;
} nvmlUtilization_t;
static_assert(sizeof(nvmlUtilization_t) == 8, "ABI");

typedef struct nvmlEccErrorCounts_st {
        unsigned long long l1Cache, l2Cache, deviceMemory, registerFile;
} nvmlEccErrorCounts_t;
static_assert(sizeof(nvmlEccErrorCounts_t) == 32, "ABI");

typedef struct nvmlEccSramErrorStatus_st {
        unsigned int version;
        unsigned long long aggregateUncParity, aggregateUncSecDed, aggregateCor;
        unsigned long long volatileUncParity, volatileUncSecDed, volatileCor;
        unsigned long long aggregateUncBucketL2, aggregateUncBucketSm, aggregateUncBucketPcie;
        unsigned long long aggregateUncBucketMcu, aggregateUncBucketOther;
        unsigned int bThresholdExceeded;
} nvmlEccSramErrorStatus_t;
static_assert(sizeof(nvmlEccSramErrorStatus_t) == 104, "ABI");

typedef struct nvmlEccSramUniqueUncorrectedErrorCounts_st {
        unsigned int version;
        unsigned int entryCount;
        void *entries;
} nvmlEccSramUniqueUncorrectedErrorCounts_t;
static_assert(sizeof(nvmlEccSramUniqueUncorrectedErrorCounts_t) == 16, "ABI");

typedef struct nvmlRowRemapperHistogramValues_st {
        unsigned int max, high, partial, low, none;
} nvmlRowRemapperHistogramValues_t;
static_assert(sizeof(nvmlRowRemapperHistogramValues_t) == 20, "ABI");

typedef struct nvmlRemappedRowsInfo_v2_st {
        unsigned int corrActiveRemaps, corrInactiveRemaps;
        unsigned int uncActiveRemaps, uncInactiveRemaps;
        unsigned int bPending, bFailureOccurred;
} nvmlRemappedRowsInfo_v2_t;
static_assert(sizeof(nvmlRemappedRowsInfo_v2_t) == 24, "ABI");

typedef struct nvmlRepairStatus_st {
        unsigned int version;
        unsigned int bChannelRepairPending, bTpcRepairPending;
} nvmlRepairStatus_t;
static_assert(sizeof(nvmlRepairStatus_t) == 12, "ABI");

typedef struct nvmlUnrepairableMemoryStatus_v1_st {
        unsigned int bUnrepairableMemory;
} nvmlUnrepairableMemoryStatus_v1_t;
static_assert(sizeof(nvmlUnrepairableMemoryStatus_v1_t) == 4, "ABI");

typedef struct nvmlViolationTime_st {
        unsigned long long referenceTime, violationTime;
} nvmlViolationTime_t;
static_assert(sizeof(nvmlViolationTime_t) == 16, "ABI");

typedef struct nvmlPowerValue_v2_st {
        unsigned int version;
        unsigned char powerScope;
        unsigned int powerValueMw;
} nvmlPowerValue_v2_t;
static_assert(sizeof(nvmlPowerValue_v2_t) == 12, "ABI");

typedef struct nvmlTemperature_st {
        unsigned int version;
        nvmlTemperatureSensors_t sensorType;
        int temperature;
} nvmlTemperature_t;
static_assert(sizeof(nvmlTemperature_t) == 12, "ABI");

typedef struct nvmlMarginTemperature_st {
        unsigned int version;
        int marginTemperature;
} nvmlMarginTemperature_t;
static_assert(sizeof(nvmlMarginTemperature_t) == 8, "ABI");

typedef struct nvmlGpuThermalSettings_st {
        unsigned int count;
        struct {
                int controller;
                int defaultMinTemp, defaultMaxTemp, currentTemp;
                int target;
        } sensor[3];
} nvmlGpuThermalSettings_t;
static_assert(sizeof(nvmlGpuThermalSettings_t) == 64, "ABI");

typedef struct nvmlFanSpeedInfo_st {
        unsigned int version;
        unsigned int fan;
        unsigned int speed;
} nvmlFanSpeedInfo_t;
static_assert(sizeof(nvmlFanSpeedInfo_t) == 12, "ABI");

typedef struct nvmlCoolerInfo_st {
        unsigned int version;
        unsigned int index;
        int signalType;
        int target;
} nvmlCoolerInfo_t;
static_assert(sizeof(nvmlCoolerInfo_t) == 16, "ABI");

typedef struct nvmlClkMonStatus_st {
        unsigned int bGlobalStatus;
        unsigned int clkMonListSize;
        struct {
                unsigned int clkApiDomain, clkDomainFaultMask;
        } clkMonList[32];
} nvmlClkMonStatus_t;
static_assert(sizeof(nvmlClkMonStatus_t) == 264, "ABI");

typedef struct nvmlClockOffset_st {
        unsigned int version;
        nvmlClockType_t type;
        nvmlPstates_t pstate;
        int clockOffsetMHz, minClockOffsetMHz, maxClockOffsetMHz;
} nvmlClockOffset_t;
static_assert(sizeof(nvmlClockOffset_t) == 24, "ABI");

typedef struct nvmlDevicePerfModes_st {
        unsigned int version;
        char str[2048];
} nvmlDevicePerfModes_t;
static_assert(sizeof(nvmlDevicePerfModes_t) == 2052, "ABI");

typedef struct nvmlDeviceCurrentClockFreqs_st {
        unsigned int version;
        char str[2048];
} nvmlDeviceCurrentClockFreqs_t;
static_assert(sizeof(nvmlDeviceCurrentClockFreqs_t) == 2052, "ABI");

typedef struct nvmlGpuDynamicPstatesInfo_st {
        unsigned int flags;
        struct {
                unsigned int bIsPresent;
                unsigned int percentage;
                unsigned int incThreshold, decThreshold;
        } utilization[8];
} nvmlGpuDynamicPstatesInfo_t;
static_assert(sizeof(nvmlGpuDynamicPstatesInfo_t) == 132, "ABI");

typedef struct nvmlDeviceAttributes_st {
        unsigned int multiprocessorCount;
        unsigned int sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount;
        unsigned int sharedJpegCount, sharedOfaCount;
        unsigned int gpuInstanceSliceCount, computeInstanceSliceCount;
        unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;
static_assert(sizeof(nvmlDeviceAttributes_t) == 40, "ABI");

enum { NVML_BRIDGE_CHIP_PLX = 0, NVML_BRIDGE_CHIP_BRO4 = 1 };

typedef struct nvmlBridgeChipHierarchy_st {
        unsigned char bridgeCount;
        struct {
                int type;
                unsigned int fwVersion;
        } bridgeChipInfo[128];
} nvmlBridgeChipHierarchy_t;
static_assert(sizeof(nvmlBridgeChipHierarchy_t) == 1028, "ABI");

typedef struct nvmlUUID_st {
        unsigned int version;
        unsigned int type; /* 1: text, 2: the 16 bytes */
        union {
                char str[41];
                unsigned char bytes[16];
        } value;
} nvmlUUID_t;
static_assert(sizeof(nvmlUUID_t) == 52, "ABI");

typedef struct nvmlGpuFabricInfo_st {
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned int cliqueId;
        nvmlGpuFabricState_t state;
} nvmlGpuFabricInfo_t;
static_assert(sizeof(nvmlGpuFabricInfo_t) == 28, "ABI");

typedef struct nvmlGpuFabricInfoV_st { /* version 2 */
        unsigned int version;
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned int cliqueId;
        nvmlGpuFabricState_t state;
        unsigned int healthMask;
} nvmlGpuFabricInfoV_t;
static_assert(sizeof(nvmlGpuFabricInfoV_t) == 36, "ABI");

typedef struct nvmlGpuFabricInfo_v3_st {
        unsigned int version;
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned int cliqueId;
        nvmlGpuFabricState_t state;
        unsigned int healthMask;
        unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;
static_assert(sizeof(nvmlGpuFabricInfo_v3_t) == 40, "ABI");

typedef struct nvmlPlatformInfo_v1_st {
        unsigned int version;
        unsigned char ibGuid[16], rackGuid[16];
        unsigned char chassisPhysicalSlotNumber, computeSlotIndex, nodeIndex, peerType, moduleId;
} nvmlPlatformInfo_v1_t;
static_assert(sizeof(nvmlPlatformInfo_v1_t) == 44, "ABI");

typedef struct nvmlPlatformInfo_st {
        unsigned int version;
        unsigned char ibGuid[16], chassisSerialNumber[16];
        unsigned char slotNumber, trayIndex, hostId, peerType, moduleId;
} nvmlPlatformInfo_t;
static_assert(sizeof(nvmlPlatformInfo_t) == 44, "ABI");

typedef struct nvmlDeviceCapabilities_st {
        unsigned int version;
        unsigned int capMask;
} nvmlDeviceCapabilities_t;
static_assert(sizeof(nvmlDeviceCapabilities_t) == 8, "ABI");

typedef struct nvmlDeviceAddressingMode_st {
        unsigned int version;
        unsigned int value; /* 0: none, 1: HMM, 2: ATS */
} nvmlDeviceAddressingMode_t;
static_assert(sizeof(nvmlDeviceAddressingMode_t) == 8, "ABI");

typedef struct nvmlPdi_st {
        unsigned int version;
        unsigned long long value;
} nvmlPdi_t;
static_assert(sizeof(nvmlPdi_t) == 16, "ABI");

typedef struct nvmlDramEncryptionInfo_st {
        unsigned int version;
        nvmlEnableState_t encryptionState;
} nvmlDramEncryptionInfo_t;
static_assert(sizeof(nvmlDramEncryptionInfo_t) == 8, "ABI");

typedef struct nvmlC2cModeInfo_v1_st {
        unsigned int isC2cEnabled;
} nvmlC2cModeInfo_v1_t;
static_assert(sizeof(nvmlC2cModeInfo_v1_t) == 4, "ABI");

typedef struct nvmlNvLinkInfo_v1_st {
        unsigned int version;
        unsigned int isNvleEnabled;
} nvmlNvLinkInfo_v1_t;
static_assert(sizeof(nvmlNvLinkInfo_v1_t) == 8, "ABI");

typedef struct nvmlNvLinkUtilizationControl_st {
        int units;
        int pktfilter;
} nvmlNvLinkUtilizationControl_t;
static_assert(sizeof(nvmlNvLinkUtilizationControl_t) == 8, "ABI");

typedef struct nvmlNvLinkPowerThres_st {
        unsigned int lowPwrThreshold;
} nvmlNvLinkPowerThres_t;
static_assert(sizeof(nvmlNvLinkPowerThres_t) == 4, "ABI");
