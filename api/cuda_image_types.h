/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver API's types for arrays, textures, surfaces and tensors. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_types.h"

enum {
        CUDA_ARRAY3D_LAYERED = 0x01,
        CUDA_ARRAY3D_SURFACE_LDST = 0x02,
        CUDA_ARRAY3D_CUBEMAP = 0x04,
        CUDA_ARRAY3D_TEXTURE_GATHER = 0x08,
        CUDA_ARRAY3D_DEPTH_TEXTURE = 0x10,
        CUDA_ARRAY3D_COLOR_ATTACHMENT = 0x20,
        CUDA_ARRAY3D_SPARSE = 0x40,
        CUDA_ARRAY3D_DEFERRED_MAPPING = 0x80,
        CUDA_ARRAY3D_VIDEO_ENCODE_DECODE = 0x100,

        CU_TRSA_OVERRIDE_FORMAT = 0x01,
        CU_TRSF_READ_AS_INTEGER = 0x01,
        CU_TRSF_NORMALIZED_COORDINATES = 0x02,
        CU_TRSF_SRGB = 0x10,
        CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION = 0x20,
        CU_TRSF_SEAMLESS_CUBEMAP = 0x40,
};

/* Arrays. */
typedef enum CUarray_format_enum {
        CU_AD_FORMAT_UNSIGNED_INT8 = 0x01,
        CU_AD_FORMAT_UNSIGNED_INT16 = 0x02,
        CU_AD_FORMAT_UNSIGNED_INT32 = 0x03,
        CU_AD_FORMAT_SIGNED_INT8 = 0x08,
        CU_AD_FORMAT_SIGNED_INT16 = 0x09,
        CU_AD_FORMAT_SIGNED_INT32 = 0x0a,
        CU_AD_FORMAT_HALF = 0x10,
        CU_AD_FORMAT_FLOAT = 0x20,
        CU_AD_FORMAT_BC1_UNORM = 0x91,
        CU_AD_FORMAT_BC7_UNORM_SRGB = 0x9e,
        CU_AD_FORMAT_NV12 = 0xb0,
        CU_AD_FORMAT_UNORM_INT8X1 = 0xc0,
        CU_AD_FORMAT_UNORM_INT8X2 = 0xc1,
        CU_AD_FORMAT_UNORM_INT8X4 = 0xc2,
        CU_AD_FORMAT_UNORM_INT16X1 = 0xc3,
        CU_AD_FORMAT_UNORM_INT16X2 = 0xc4,
        CU_AD_FORMAT_UNORM_INT16X4 = 0xc5,
        CU_AD_FORMAT_SNORM_INT8X1 = 0xc6,
        CU_AD_FORMAT_SNORM_INT8X2 = 0xc7,
        CU_AD_FORMAT_SNORM_INT8X4 = 0xc8,
        CU_AD_FORMAT_SNORM_INT16X1 = 0xc9,
        CU_AD_FORMAT_SNORM_INT16X2 = 0xca,
        CU_AD_FORMAT_SNORM_INT16X4 = 0xcb,
        CU_AD_FORMAT_MAX = 0x7fffffff,
} CUarray_format;

typedef struct CUDA_ARRAY_DESCRIPTOR_v1_st {
        unsigned int Width;
        unsigned int Height;
        CUarray_format Format;
        unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR_v1;
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR_v1) == 16, "the driver's layout");

typedef struct CUDA_ARRAY_DESCRIPTOR_st {
        size_t Width;
        size_t Height;
        CUarray_format Format;
        unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24, "the driver's layout");

typedef struct CUDA_ARRAY3D_DESCRIPTOR_v1_st {
        unsigned int Width;
        unsigned int Height;
        unsigned int Depth;
        CUarray_format Format;
        unsigned int NumChannels;
        unsigned int Flags;
} CUDA_ARRAY3D_DESCRIPTOR_v1;
static_assert(sizeof(CUDA_ARRAY3D_DESCRIPTOR_v1) == 24, "the driver's layout");

typedef struct CUDA_ARRAY3D_DESCRIPTOR_st {
        size_t Width;
        size_t Height;
        size_t Depth;
        CUarray_format Format;
        unsigned int NumChannels;
        unsigned int Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
static_assert(sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40, "the driver's layout");

typedef struct CUDA_ARRAY_SPARSE_PROPERTIES_st {
        struct {
                unsigned int width;
                unsigned int height;
                unsigned int depth;
        } tileExtent;
        unsigned int miptailFirstLevel;
        unsigned long long miptailSize;
        unsigned int flags;
        unsigned int reserved[4];
} CUDA_ARRAY_SPARSE_PROPERTIES;
static_assert(sizeof(CUDA_ARRAY_SPARSE_PROPERTIES) == 48, "the driver's layout");

typedef struct CUDA_ARRAY_MEMORY_REQUIREMENTS_st {
        size_t size;
        size_t alignment;
        unsigned int reserved[4];
} CUDA_ARRAY_MEMORY_REQUIREMENTS;
static_assert(sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS) == 32, "the driver's layout");

/* Textures and surfaces. */
typedef enum CUresourcetype_enum {
        CU_RESOURCE_TYPE_ARRAY = 0,
        CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 1,
        CU_RESOURCE_TYPE_LINEAR = 2,
        CU_RESOURCE_TYPE_PITCH2D = 3,
} CUresourcetype;

typedef enum CUaddress_mode_enum {
        CU_TR_ADDRESS_MODE_WRAP = 0,
        CU_TR_ADDRESS_MODE_CLAMP = 1,
        CU_TR_ADDRESS_MODE_MIRROR = 2,
        CU_TR_ADDRESS_MODE_BORDER = 3,
} CUaddress_mode;

typedef enum CUfilter_mode_enum {
        CU_TR_FILTER_MODE_POINT = 0,
        CU_TR_FILTER_MODE_LINEAR = 1,
} CUfilter_mode;

typedef struct CUDA_RESOURCE_DESC_st {
        CUresourcetype resType;
        union {
                struct {
                        CUarray hArray;
                } array;
                struct {
                        CUmipmappedArray hMipmappedArray;
                } mipmap;
                struct {
                        CUdeviceptr devPtr;
                        CUarray_format format;
                        unsigned int numChannels;
                        size_t sizeInBytes;
                } linear;
                struct {
                        CUdeviceptr devPtr;
                        CUarray_format format;
                        unsigned int numChannels;
                        size_t width;
                        size_t height;
                        size_t pitchInBytes;
                } pitch2D;
                struct {
                        int reserved[32];
                } reserved;
        } res;
        unsigned int flags;
} CUDA_RESOURCE_DESC;
static_assert(sizeof(CUDA_RESOURCE_DESC) == 144, "the driver's layout");

typedef struct CUDA_TEXTURE_DESC_st {
        CUaddress_mode addressMode[3];
        CUfilter_mode filterMode;
        unsigned int flags;
        unsigned int maxAnisotropy;
        CUfilter_mode mipmapFilterMode;
        float mipmapLevelBias;
        float minMipmapLevelClamp;
        float maxMipmapLevelClamp;
        float borderColor[4];
        int reserved[12];
} CUDA_TEXTURE_DESC;
static_assert(sizeof(CUDA_TEXTURE_DESC) == 104, "the driver's layout");

typedef struct CUDA_RESOURCE_VIEW_DESC_st {
        int format;
        size_t width;
        size_t height;
        size_t depth;
        unsigned int firstMipmapLevel;
        unsigned int lastMipmapLevel;
        unsigned int firstLayer;
        unsigned int lastLayer;
        unsigned int reserved[16];
} CUDA_RESOURCE_VIEW_DESC;
static_assert(sizeof(CUDA_RESOURCE_VIEW_DESC) == 112, "the driver's layout");

/* How a kernel's bulk copies see a tensor; written by the driver, read by the GPU alone. */
typedef struct CUtensorMap_st {
        _Alignas(64) cuuint64_t opaque[16];
} CUtensorMap;
static_assert(sizeof(CUtensorMap) == 128, "the driver's layout");
