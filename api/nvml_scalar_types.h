/* SPDX-License-Identifier: Apache-2.0 */
/* The enumerations of NVML: what its functions are asked for and answer with. */
#pragma once

typedef enum nvmlBrandType_enum {
        NVML_BRAND_UNKNOWN = 0,
        NVML_BRAND_QUADRO = 1,
        NVML_BRAND_TESLA = 2,
        NVML_BRAND_GEFORCE = 5,
        NVML_BRAND_TITAN = 6,
        NVML_BRAND_NVIDIA = 14,
        NVML_BRAND_GEFORCE_RTX = 15,
} nvmlBrandType_t;

typedef enum nvmlClockType_enum {
        NVML_CLOCK_GRAPHICS = 0,
        NVML_CLOCK_SM = 1,
        NVML_CLOCK_MEM = 2,
        NVML_CLOCK_VIDEO = 3,
        NVML_CLOCK_COUNT,
} nvmlClockType_t;

typedef enum nvmlClockId_enum {
        NVML_CLOCK_ID_CURRENT = 0,
        NVML_CLOCK_ID_APP_CLOCK_TARGET = 1,
        NVML_CLOCK_ID_APP_CLOCK_DEFAULT = 2,
        NVML_CLOCK_ID_CUSTOMER_BOOST_MAX = 3,
        NVML_CLOCK_ID_COUNT,
} nvmlClockId_t;

typedef enum nvmlComputeMode_enum {
        NVML_COMPUTEMODE_DEFAULT = 0,
        NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1,
        NVML_COMPUTEMODE_PROHIBITED = 2,
        NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
        NVML_COMPUTEMODE_COUNT,
} nvmlComputeMode_t;

typedef enum nvmlPStates_enum {
        NVML_PSTATE_0 = 0,
        NVML_PSTATE_2 = 2,
        NVML_PSTATE_8 = 8,
        NVML_PSTATE_15 = 15,
        NVML_PSTATE_UNKNOWN = 32,
} nvmlPstates_t;

typedef enum nvmlMemoryErrorType_enum {
        NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
        NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1,
        NVML_MEMORY_ERROR_TYPE_COUNT,
} nvmlMemoryErrorType_t;

typedef enum nvmlEccCounterType_enum {
        NVML_VOLATILE_ECC = 0,
        NVML_AGGREGATE_ECC = 1,
        NVML_ECC_COUNTER_TYPE_COUNT,
} nvmlEccCounterType_t;

typedef enum nvmlMemoryLocation_enum {
        NVML_MEMORY_LOCATION_L1_CACHE = 0,
        NVML_MEMORY_LOCATION_L2_CACHE = 1,
        NVML_MEMORY_LOCATION_DEVICE_MEMORY = 2,
        NVML_MEMORY_LOCATION_REGISTER_FILE = 3,
        NVML_MEMORY_LOCATION_TEXTURE_MEMORY = 4,
        NVML_MEMORY_LOCATION_TEXTURE_SHM = 5,
        NVML_MEMORY_LOCATION_CBU = 6,
        NVML_MEMORY_LOCATION_SRAM = 7,
        NVML_MEMORY_LOCATION_COUNT,
} nvmlMemoryLocation_t;

typedef enum nvmlPageRetirementCause_enum {
        NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS = 0,
        NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR = 1,
        NVML_PAGE_RETIREMENT_CAUSE_COUNT,
} nvmlPageRetirementCause_t;

typedef enum nvmlTemperatureThresholds_enum {
        NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0,
        NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
        NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2,
        NVML_TEMPERATURE_THRESHOLD_GPU_MAX = 3,
        NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MIN = 4,
        NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_CURR = 5,
        NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MAX = 6,
        NVML_TEMPERATURE_THRESHOLD_GPS_CURR = 7,
        NVML_TEMPERATURE_THRESHOLD_COUNT,
} nvmlTemperatureThresholds_t;

typedef enum nvmlTemperatureSensors_enum {
        NVML_TEMPERATURE_GPU = 0,
} nvmlTemperatureSensors_t;

typedef enum nvmlInforomObject_enum {
        NVML_INFOROM_OEM = 0,
        NVML_INFOROM_ECC = 1,
        NVML_INFOROM_POWER = 2,
        NVML_INFOROM_DEN = 3,
        NVML_INFOROM_COUNT,
} nvmlInforomObject_t;

typedef enum nvmlGom_enum {
        NVML_GOM_ALL_ON = 0,
        NVML_GOM_COMPUTE = 1,
        NVML_GOM_LOW_DP = 2,
} nvmlGpuOperationMode_t;

typedef enum nvmlRestrictedAPI_enum {
        NVML_RESTRICTED_API_SET_APPLICATION_CLOCKS = 0,
        NVML_RESTRICTED_API_SET_AUTO_BOOSTED_CLOCKS = 1,
        NVML_RESTRICTED_API_COUNT,
} nvmlRestrictedAPI_t;

typedef enum nvmlGpuVirtualizationMode {
        NVML_GPU_VIRTUALIZATION_MODE_NONE = 0,
        NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH = 1,
        NVML_GPU_VIRTUALIZATION_MODE_VGPU = 2,
        NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU = 3,
        NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA = 4,
} nvmlGpuVirtualizationMode_t;

typedef enum nvmlPcieUtilCounter_enum {
        NVML_PCIE_UTIL_TX_BYTES = 0,
        NVML_PCIE_UTIL_RX_BYTES = 1,
        NVML_PCIE_UTIL_COUNT,
} nvmlPcieUtilCounter_t;

typedef enum nvmlPerfPolicyType_enum {
        NVML_PERF_POLICY_POWER = 0,
        NVML_PERF_POLICY_THERMAL = 1,
        NVML_PERF_POLICY_SYNC_BOOST = 2,
        NVML_PERF_POLICY_BOARD_LIMIT = 3,
        NVML_PERF_POLICY_LOW_UTILIZATION = 4,
        NVML_PERF_POLICY_RELIABILITY = 5,
        NVML_PERF_POLICY_TOTAL_APP_CLOCKS = 10,
        NVML_PERF_POLICY_TOTAL_BASE_CLOCKS = 11,
        NVML_PERF_POLICY_COUNT,
} nvmlPerfPolicyType_t;

typedef enum nvmlGpuLevel_enum {
        NVML_TOPOLOGY_INTERNAL = 0,
        NVML_TOPOLOGY_SINGLE = 10,
        NVML_TOPOLOGY_MULTIPLE = 20,
        NVML_TOPOLOGY_HOSTBRIDGE = 30,
        NVML_TOPOLOGY_NODE = 40,
        NVML_TOPOLOGY_SYSTEM = 50,
} nvmlGpuTopologyLevel_t;

typedef enum nvmlGpuP2PStatus_enum {
        NVML_P2P_STATUS_OK = 0,
        NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED = 1,
        NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2,
        NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED = 3,
        NVML_P2P_STATUS_DISABLED_BY_REGKEY = 4,
        NVML_P2P_STATUS_NOT_SUPPORTED = 5,
        NVML_P2P_STATUS_UNKNOWN = 6,
} nvmlGpuP2PStatus_t;

typedef enum nvmlGpuP2PCapsIndex_enum {
        NVML_P2P_CAPS_INDEX_READ = 0,
        NVML_P2P_CAPS_INDEX_WRITE = 1,
        NVML_P2P_CAPS_INDEX_NVLINK = 2,
        NVML_P2P_CAPS_INDEX_ATOMICS = 3,
        NVML_P2P_CAPS_INDEX_PROP = 4,
        NVML_P2P_CAPS_INDEX_UNKNOWN = 5,
} nvmlGpuP2PCapsIndex_t;

typedef enum nvmlNvLinkCapability_enum {
        NVML_NVLINK_CAP_P2P_SUPPORTED = 0,
        NVML_NVLINK_CAP_SYSMEM_ACCESS = 1,
        NVML_NVLINK_CAP_P2P_ATOMICS = 2,
        NVML_NVLINK_CAP_SYSMEM_ATOMICS = 3,
        NVML_NVLINK_CAP_SLI_BRIDGE = 4,
        NVML_NVLINK_CAP_VALID = 5,
        NVML_NVLINK_CAP_COUNT,
} nvmlNvLinkCapability_t;

typedef enum nvmlNvLinkErrorCounter_enum {
        NVML_NVLINK_ERROR_DL_REPLAY = 0,
        NVML_NVLINK_ERROR_DL_RECOVERY = 1,
        NVML_NVLINK_ERROR_DL_CRC_FLIT = 2,
        NVML_NVLINK_ERROR_DL_CRC_DATA = 3,
        NVML_NVLINK_ERROR_DL_ECC_DATA = 4,
        NVML_NVLINK_ERROR_COUNT,
} nvmlNvLinkErrorCounter_t;

typedef enum nvmlIntNvLinkDeviceType_enum {
        NVML_NVLINK_DEVICE_TYPE_GPU = 0,
        NVML_NVLINK_DEVICE_TYPE_IBMNPU = 1,
        NVML_NVLINK_DEVICE_TYPE_SWITCH = 2,
        NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 0xff,
} nvmlIntNvLinkDeviceType_t;

typedef enum nvmlEncoderQueryType_enum {
        NVML_ENCODER_QUERY_H264 = 0,
        NVML_ENCODER_QUERY_HEVC = 1,
        NVML_ENCODER_QUERY_AV1 = 2,
} nvmlEncoderType_t;

typedef enum nvmlSamplingType_enum {
        NVML_TOTAL_POWER_SAMPLES = 0,
        NVML_GPU_UTILIZATION_SAMPLES = 1,
        NVML_MEMORY_UTILIZATION_SAMPLES = 2,
        NVML_ENC_UTILIZATION_SAMPLES = 3,
        NVML_DEC_UTILIZATION_SAMPLES = 4,
        NVML_PROCESSOR_CLK_SAMPLES = 5,
        NVML_MEMORY_CLK_SAMPLES = 6,
        NVML_MODULE_POWER_SAMPLES = 7,
        NVML_JPG_UTILIZATION_SAMPLES = 8,
        NVML_OFA_UTILIZATION_SAMPLES = 9,
        NVML_SAMPLINGTYPE_COUNT,
} nvmlSamplingType_t;

typedef enum nvmlValueType_enum {
        NVML_VALUE_TYPE_DOUBLE = 0,
        NVML_VALUE_TYPE_UNSIGNED_INT = 1,
        NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
        NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
        NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
        NVML_VALUE_TYPE_SIGNED_INT = 5,
        NVML_VALUE_TYPE_UNSIGNED_SHORT = 6,
} nvmlValueType_t;

enum {
        NVML_DEVICE_ARCH_MAXWELL = 3,
        NVML_DEVICE_ARCH_PASCAL = 4,
        NVML_DEVICE_ARCH_VOLTA = 5,
        NVML_DEVICE_ARCH_TURING = 6,
        NVML_DEVICE_ARCH_AMPERE = 7,
        NVML_DEVICE_ARCH_ADA = 8,
        NVML_DEVICE_ARCH_HOPPER = 9,

        NVML_BUS_TYPE_PCIE = 2,
        NVML_FAN_POLICY_TEMPERATURE_CONTINUOUS = 0,
        NVML_FAN_POLICY_MANUAL = 1,
        NVML_POWER_SOURCE_AC = 0,
        NVML_AFFINITY_SCOPE_NODE = 0,
        NVML_AFFINITY_SCOPE_SOCKET = 1,
        NVML_PROCESS_MODE_COMPUTE = 0,
        NVML_PROCESS_MODE_GRAPHICS = 1,
        NVML_PROCESS_MODE_MPS = 2,
        NVML_INIT_FLAG_NO_GPUS = 1,
        NVML_INIT_FLAG_NO_ATTACH = 2,
};

/* Bits of nvmlEventType…; events of the machine carry them. */
#define NVML_EVENT_SINGLE_BIT_ECC 0x1ull
#define NVML_EVENT_DOUBLE_BIT_ECC 0x2ull
#define NVML_EVENT_PSTATE         0x4ull
#define NVML_EVENT_XID            0x8ull
#define NVML_EVENT_CLOCK          0x10ull
#define NVML_EVENT_POWER_SOURCE   0x80ull
#define NVML_EVENT_MIG_CONFIG     0x100ull

/* Bits of nvmlClocksEventReason…. */
#define NVML_CLOCKS_IDLE                0x1ull
#define NVML_CLOCKS_APPLICATION_SETTING 0x2ull
#define NVML_CLOCKS_SW_POWER_CAP        0x4ull
#define NVML_CLOCKS_HW_SLOWDOWN         0x8ull
#define NVML_CLOCKS_SYNC_BOOST          0x10ull
#define NVML_CLOCKS_SW_THERMAL          0x20ull
#define NVML_CLOCKS_HW_THERMAL          0x40ull
#define NVML_CLOCKS_HW_POWER_BRAKE      0x80ull
#define NVML_CLOCKS_DISPLAY             0x100ull
#define NVML_CLOCKS_ALL                 0x1ffull

/* The figure that means "not applicable" in pids, instance ids and memory. */
#define NVML_ID_NONE    UINT32_MAX
#define NVML_VALUE_NONE UINT64_MAX
