/* SPDX-License-Identifier: Apache-2.0 */
/* Device attributes: what all simulated GPUs share, as a table; what a GPU's figures decide. */
#include "context.h"
#include "sim_cuda.h"

#define A(name) [CU_DEVICE_ATTRIBUTE_##name]

static const int attribute_common[CU_DEVICE_ATTRIBUTE_MAX] = {
        A(MAX_THREADS_PER_BLOCK) = 1024,
        A(MAX_BLOCK_DIM_X) = 1024,
        A(MAX_BLOCK_DIM_Y) = 1024,
        A(MAX_BLOCK_DIM_Z) = 64,
        A(MAX_GRID_DIM_X) = 0x7fffffff,
        A(MAX_GRID_DIM_Y) = 65535,
        A(MAX_GRID_DIM_Z) = 65535,
        A(MAX_SHARED_MEMORY_PER_BLOCK) = 49152,
        A(TOTAL_CONSTANT_MEMORY) = 65536,
        A(WARP_SIZE) = 32,
        A(MAX_PITCH) = 0x7fffffff,
        A(MAX_REGISTERS_PER_BLOCK) = 65536,
        A(TEXTURE_ALIGNMENT) = 512,
        A(GPU_OVERLAP) = 1,
        A(CAN_MAP_HOST_MEMORY) = 1,
        A(MAXIMUM_TEXTURE1D_WIDTH) = 131072,
        A(MAXIMUM_TEXTURE2D_WIDTH) = 131072,
        A(MAXIMUM_TEXTURE2D_HEIGHT) = 65536,
        A(MAXIMUM_TEXTURE3D_WIDTH) = 16384,
        A(MAXIMUM_TEXTURE3D_HEIGHT) = 16384,
        A(MAXIMUM_TEXTURE3D_DEPTH) = 16384,
        A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH) = 32768,
        A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT) = 32768,
        A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS) = 2048,
        A(SURFACE_ALIGNMENT) = 512,
        A(CONCURRENT_KERNELS) = 1,
        A(UNIFIED_ADDRESSING) = 1,
        A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH) = 32768,
        A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS) = 2048,
        A(CAN_TEX2D_GATHER) = 1,
        A(MAXIMUM_TEXTURE2D_GATHER_WIDTH) = 32768,
        A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT) = 32768,
        A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE) = 8192,
        A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE) = 8192,
        A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE) = 32768,
        A(TEXTURE_PITCH_ALIGNMENT) = 32,
        A(MAXIMUM_TEXTURECUBEMAP_WIDTH) = 32768,
        A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH) = 32768,
        A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS) = 2046,
        A(MAXIMUM_SURFACE1D_WIDTH) = 32768,
        A(MAXIMUM_SURFACE2D_WIDTH) = 131072,
        A(MAXIMUM_SURFACE2D_HEIGHT) = 65536,
        A(MAXIMUM_SURFACE3D_WIDTH) = 16384,
        A(MAXIMUM_SURFACE3D_HEIGHT) = 16384,
        A(MAXIMUM_SURFACE3D_DEPTH) = 16384,
        A(MAXIMUM_SURFACE1D_LAYERED_WIDTH) = 32768,
        A(MAXIMUM_SURFACE1D_LAYERED_LAYERS) = 2048,
        A(MAXIMUM_SURFACE2D_LAYERED_WIDTH) = 32768,
        A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT) = 32768,
        A(MAXIMUM_SURFACE2D_LAYERED_LAYERS) = 2048,
        A(MAXIMUM_SURFACECUBEMAP_WIDTH) = 32768,
        A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH) = 32768,
        A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS) = 2046,
        A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH) = 268435456,
        A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH) = 131072,
        A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) = 65000,
        A(MAXIMUM_TEXTURE2D_LINEAR_PITCH) = 2097120,
        A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH) = 32768,
        A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT) = 32768,
        A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH) = 32768,
        A(STREAM_PRIORITIES_SUPPORTED) = 1,
        A(GLOBAL_L1_CACHE_SUPPORTED) = 1,
        A(LOCAL_L1_CACHE_SUPPORTED) = 1,
        A(MAX_REGISTERS_PER_MULTIPROCESSOR) = 65536,
        A(MANAGED_MEMORY) = 1,
        A(CONCURRENT_MANAGED_ACCESS) = 1,
        A(COMPUTE_PREEMPTION_SUPPORTED) = 1,
        A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) = 1,
        A(CAN_USE_STREAM_MEM_OPS_V1) = 1,
        A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1) = 1,
        A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1) = 1,
        A(COOPERATIVE_LAUNCH) = 1,
        A(HOST_REGISTER_SUPPORTED) = 1,
        A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) = 1,
        A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) = 1,
        A(RESERVED_SHARED_MEMORY_PER_BLOCK) = 1024,
        A(MEMORY_POOLS_SUPPORTED) = 1,
        A(MEMPOOL_SUPPORTED_HANDLE_TYPES) = 1,
        A(CAN_USE_64_BIT_STREAM_MEM_OPS) = 1,
        A(CAN_USE_STREAM_WAIT_VALUE_NOR) = 1,
        A(IPC_EVENT_SUPPORTED) = 1,
        A(MEM_SYNC_DOMAIN_COUNT) = 1,
        A(UNIFIED_FUNCTION_POINTERS) = 1,
        A(NUMA_ID) = -1,
};
#undef A

/* What depends on the architecture alone. */
static int attribute_of_architecture(const struct machine_gpu *gpu, int attribute, int common)
{
        bool is_volta = gpu->capability_major >= 7, is_ampere = gpu->capability_major >= 8;
        bool is_hopper = gpu->capability_major >= 9;

        switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
                return gpu->capability_major >= 6 ? common : 0;
        case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
                return gpu->has_mig ? 2 : is_ampere ? 64 : 32;
        case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
                return is_ampere ? (int)(gpu->l2_bytes / 4 * 3) : 0;
        case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE:
                return is_ampere ? 134213632 : 0;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
                return is_ampere ? common : 0;
        case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES:
                return is_volta;
        case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
                return is_hopper;
        case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT:
                return is_hopper ? 4 : 1;
        default:
                return common;
        }
}

static int attribute_value(const struct device *device, int attribute)
{
        const struct machine_gpu *gpu = device_gpu(device);

        switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
                return (int)gpu->sm_clock_mhz * 1000;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
                return (int)device_unit(device)->sm_count;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
                return (int)gpu->compute_mode;
        case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
                return (int)gpu->has_ecc;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
                return (int)gpu->pci_bus;
        case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
                return (int)gpu->pci_device;
        case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
                return (int)gpu->pci_domain;
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
                return (int)gpu->memory_clock_mhz * 1000;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
                return (int)gpu->memory_bus_bits;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
                return (int)gpu->l2_bytes;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
                return (int)gpu->threads_per_sm;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
                return (int)gpu->copy_engines;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
                return (int)gpu->capability_major;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
                return (int)gpu->capability_minor;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
                return (int)gpu->shared_per_sm_bytes;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
                return (int)gpu->shared_per_block_optin_bytes;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
                return (int)gpu->blocks_per_sm;
        case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
                return (int)device->gpu;
        case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
                return gpu->numa_node;
        case CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID:
                return (int)gpu->pci_device_id;
        case CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID:
                return (int)gpu->pci_subsystem_id;
        default:
                return attribute_of_architecture(gpu, attribute, attribute_common[attribute]);
        }
}

CUresult sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);

        if (!value || (int)attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *value = attribute_value(device, (int)attribute);
        return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetProperties(CUdevprop *properties, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);

        if (!properties)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *properties = (CUdevprop){
                .maxThreadsPerBlock = 1024,
                .maxThreadsDim = { 1024, 1024, 64 },
                .maxGridSize = { 0x7fffffff, 65535, 65535 },
                .sharedMemPerBlock = 49152,
                .totalConstantMemory = 65536,
                .SIMDWidth = 32,
                .memPitch = 0x7fffffff,
                .regsPerBlock = 65536,
                .clockRate = attribute_value(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                .textureAlign = 512,
        };
        return CUDA_SUCCESS;
}
