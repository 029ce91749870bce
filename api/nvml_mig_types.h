/* SPDX-License-Identifier: Apache-2.0 */
/* The structures of NVML for GPU instances and compute instances, one declaration per version. */
#pragma once

#include <assert.h>

#include "nvml_types.h"

enum {
        /* Index of a kind of GPU instance; the id that a GPU gives it is another number. */
        NVML_GPU_INSTANCE_PROFILE_1_SLICE = 0,
        NVML_GPU_INSTANCE_PROFILE_2_SLICE = 1,
        NVML_GPU_INSTANCE_PROFILE_3_SLICE = 2,
        NVML_GPU_INSTANCE_PROFILE_4_SLICE = 3,
        NVML_GPU_INSTANCE_PROFILE_7_SLICE = 4,
        NVML_GPU_INSTANCE_PROFILE_8_SLICE = 5,
        NVML_GPU_INSTANCE_PROFILE_6_SLICE = 6,
        NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1 = 7,
        NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1 = 8,
        NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2 = 9,
        NVML_GPU_INSTANCE_PROFILE_COUNT = 18,

        NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE = 0,
        NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE = 1,
        NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE = 2,
        NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE = 3,
        NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE = 4,
        NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 8,
        NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED = 0,
};

typedef struct nvmlGpuInstancePlacement_st {
        unsigned int start, size; /* memory slices */
} nvmlGpuInstancePlacement_t;
static_assert(sizeof(nvmlGpuInstancePlacement_t) == 8, "ABI");

typedef struct nvmlGpuInstanceProfileInfo_st {
        unsigned int id;
        unsigned int isP2pSupported;
        unsigned int sliceCount, instanceCount;
        unsigned int multiprocessorCount;
        unsigned int copyEngineCount, decoderCount, encoderCount, jpegCount, ofaCount;
        unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;
static_assert(sizeof(nvmlGpuInstanceProfileInfo_t) == 48, "ABI");

typedef struct nvmlGpuInstanceProfileInfo_v2_st {
        unsigned int version;
        unsigned int id;
        unsigned int isP2pSupported;
        unsigned int sliceCount, instanceCount;
        unsigned int multiprocessorCount;
        unsigned int copyEngineCount, decoderCount, encoderCount, jpegCount, ofaCount;
        unsigned long long memorySizeMB;
        char name[96];
} nvmlGpuInstanceProfileInfo_v2_t;
static_assert(sizeof(nvmlGpuInstanceProfileInfo_v2_t) == 152, "ABI");

typedef struct nvmlGpuInstanceProfileInfo_v3_st {
        unsigned int version;
        unsigned int id;
        unsigned int sliceCount, instanceCount;
        unsigned int multiprocessorCount;
        unsigned int copyEngineCount, decoderCount, encoderCount, jpegCount, ofaCount;
        unsigned long long memorySizeMB;
        char name[96];
        unsigned int capabilities;
} nvmlGpuInstanceProfileInfo_v3_t;
static_assert(sizeof(nvmlGpuInstanceProfileInfo_v3_t) == 152, "ABI");

typedef struct nvmlGpuInstanceInfo_st {
        nvmlDevice_t device;
        unsigned int id;
        unsigned int profileId;
        nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;
static_assert(sizeof(nvmlGpuInstanceInfo_t) == 24, "ABI");

typedef struct nvmlComputeInstancePlacement_st {
        unsigned int start, size; /* compute slices */
} nvmlComputeInstancePlacement_t;
static_assert(sizeof(nvmlComputeInstancePlacement_t) == 8, "ABI");

typedef struct nvmlComputeInstanceProfileInfo_st {
        unsigned int id;
        unsigned int sliceCount, instanceCount;
        unsigned int multiprocessorCount;
        unsigned int sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount;
        unsigned int sharedJpegCount, sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;
static_assert(sizeof(nvmlComputeInstanceProfileInfo_t) == 36, "ABI");

typedef struct nvmlComputeInstanceProfileInfo_v2_st {
        unsigned int version;
        nvmlComputeInstanceProfileInfo_t common;
        char name[96];
} nvmlComputeInstanceProfileInfo_v2_t;
static_assert(sizeof(nvmlComputeInstanceProfileInfo_v2_t) == 136, "ABI");

typedef struct nvmlComputeInstanceProfileInfo_v3_st {
        unsigned int version;
        nvmlComputeInstanceProfileInfo_t common;
        char name[96];
        unsigned int capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;
static_assert(sizeof(nvmlComputeInstanceProfileInfo_v3_t) == 140, "ABI");

/* nvmlComputeInstanceGetInfo fills the first, nvmlComputeInstanceGetInfo_v2 the second. */
typedef struct nvmlComputeInstanceInfo_v1_st {
        nvmlDevice_t device;
        nvmlGpuInstance_t gpuInstance;
        unsigned int id;
        unsigned int profileId;
} nvmlComputeInstanceInfo_v1_t;
static_assert(sizeof(nvmlComputeInstanceInfo_v1_t) == 24, "ABI");

typedef struct nvmlComputeInstanceInfo_st {
        nvmlDevice_t device;
        nvmlGpuInstance_t gpuInstance;
        unsigned int id;
        unsigned int profileId;
        nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;
static_assert(sizeof(nvmlComputeInstanceInfo_t) == 32, "ABI");
