/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver API's types for memory: copies, managed memory, pools, mappings. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_image_types.h"
#include "cuda_types.h"

typedef enum CUmemorytype_enum {
        CU_MEMORYTYPE_HOST = 1,
        CU_MEMORYTYPE_DEVICE = 2,
        CU_MEMORYTYPE_ARRAY = 3,
        CU_MEMORYTYPE_UNIFIED = 4,
} CUmemorytype;

enum {
        CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1,

        CU_MEM_ATTACH_GLOBAL = 1,
        CU_MEM_ATTACH_HOST = 2,
        CU_MEM_ATTACH_SINGLE = 4,

        CU_MEMHOSTALLOC_PORTABLE = 1,
        CU_MEMHOSTALLOC_DEVICEMAP = 2,
        CU_MEMHOSTALLOC_WRITECOMBINED = 4,
        CU_MEMHOSTREGISTER_PORTABLE = 1,
        CU_MEMHOSTREGISTER_DEVICEMAP = 2,
        CU_MEMHOSTREGISTER_IOMEMORY = 4,
        CU_MEMHOSTREGISTER_READ_ONLY = 8,

        CU_MEM_CREATE_USAGE_TILE_POOL = 1,
        CU_MEM_CREATE_USAGE_HW_DECOMPRESS = 2,
};

/* Copies. */
typedef struct CUDA_MEMCPY2D_v1_st {
        unsigned int srcXInBytes;
        unsigned int srcY;
        CUmemorytype srcMemoryType;
        const void *srcHost;
        CUdeviceptr_v1 srcDevice;
        CUarray srcArray;
        unsigned int srcPitch;
        unsigned int dstXInBytes;
        unsigned int dstY;
        CUmemorytype dstMemoryType;
        void *dstHost;
        CUdeviceptr_v1 dstDevice;
        CUarray dstArray;
        unsigned int dstPitch;
        unsigned int WidthInBytes;
        unsigned int Height;
} CUDA_MEMCPY2D_v1;
static_assert(sizeof(CUDA_MEMCPY2D_v1) == 96, "the driver's layout");

typedef struct CUDA_MEMCPY2D_st {
        size_t srcXInBytes;
        size_t srcY;
        CUmemorytype srcMemoryType;
        const void *srcHost;
        CUdeviceptr srcDevice;
        CUarray srcArray;
        size_t srcPitch;
        size_t dstXInBytes;
        size_t dstY;
        CUmemorytype dstMemoryType;
        void *dstHost;
        CUdeviceptr dstDevice;
        CUarray dstArray;
        size_t dstPitch;
        size_t WidthInBytes;
        size_t Height;
} CUDA_MEMCPY2D;
static_assert(sizeof(CUDA_MEMCPY2D) == 128, "the driver's layout");

typedef struct CUDA_MEMCPY3D_v1_st {
        unsigned int srcXInBytes;
        unsigned int srcY;
        unsigned int srcZ;
        unsigned int srcLOD;
        CUmemorytype srcMemoryType;
        const void *srcHost;
        CUdeviceptr_v1 srcDevice;
        CUarray srcArray;
        void *reserved0;
        unsigned int srcPitch;
        unsigned int srcHeight;
        unsigned int dstXInBytes;
        unsigned int dstY;
        unsigned int dstZ;
        unsigned int dstLOD;
        CUmemorytype dstMemoryType;
        void *dstHost;
        CUdeviceptr_v1 dstDevice;
        CUarray dstArray;
        void *reserved1;
        unsigned int dstPitch;
        unsigned int dstHeight;
        unsigned int WidthInBytes;
        unsigned int Height;
        unsigned int Depth;
} CUDA_MEMCPY3D_v1;
static_assert(sizeof(CUDA_MEMCPY3D_v1) == 144, "the driver's layout");

typedef struct CUDA_MEMCPY3D_st {
        size_t srcXInBytes;
        size_t srcY;
        size_t srcZ;
        size_t srcLOD;
        CUmemorytype srcMemoryType;
        const void *srcHost;
        CUdeviceptr srcDevice;
        CUarray srcArray;
        void *reserved0;
        size_t srcPitch;
        size_t srcHeight;
        size_t dstXInBytes;
        size_t dstY;
        size_t dstZ;
        size_t dstLOD;
        CUmemorytype dstMemoryType;
        void *dstHost;
        CUdeviceptr dstDevice;
        CUarray dstArray;
        void *reserved1;
        size_t dstPitch;
        size_t dstHeight;
        size_t WidthInBytes;
        size_t Height;
        size_t Depth;
} CUDA_MEMCPY3D;
static_assert(sizeof(CUDA_MEMCPY3D) == 200, "the driver's layout");

/* CUDA_MEMCPY3D with the contexts in place of the reserved words. */
typedef struct CUDA_MEMCPY3D_PEER_st {
        size_t srcXInBytes;
        size_t srcY;
        size_t srcZ;
        size_t srcLOD;
        CUmemorytype srcMemoryType;
        const void *srcHost;
        CUdeviceptr srcDevice;
        CUarray srcArray;
        CUcontext srcContext;
        size_t srcPitch;
        size_t srcHeight;
        size_t dstXInBytes;
        size_t dstY;
        size_t dstZ;
        size_t dstLOD;
        CUmemorytype dstMemoryType;
        void *dstHost;
        CUdeviceptr dstDevice;
        CUarray dstArray;
        CUcontext dstContext;
        size_t dstPitch;
        size_t dstHeight;
        size_t WidthInBytes;
        size_t Height;
        size_t Depth;
} CUDA_MEMCPY3D_PEER;
static_assert(sizeof(CUDA_MEMCPY3D_PEER) == 200, "the driver's layout");
static_assert(offsetof(CUDA_MEMCPY3D_PEER, dstContext) == offsetof(CUDA_MEMCPY3D, reserved1),
              "one serves as the other");

typedef enum CUmemcpySrcAccessOrder_enum {
        CU_MEMCPY_SRC_ACCESS_ORDER_INVALID = 0,
        CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
        CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
        CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3,
        CU_MEMCPY_SRC_ACCESS_ORDER_MAX = 0x7fffffff,
} CUmemcpySrcAccessOrder;

typedef struct CUmemcpyAttributes_st {
        CUmemcpySrcAccessOrder srcAccessOrder;
        CUmemLocation srcLocHint;
        CUmemLocation dstLocHint;
        unsigned int flags;
} CUmemcpyAttributes;
static_assert(sizeof(CUmemcpyAttributes) == 24, "the driver's layout");

typedef enum CUmemcpy3DOperandType_enum {
        CU_MEMCPY_OPERAND_TYPE_POINTER = 1,
        CU_MEMCPY_OPERAND_TYPE_ARRAY = 2,
        CU_MEMCPY_OPERAND_TYPE_MAX = 0x7fffffff,
} CUmemcpy3DOperandType;

typedef struct CUoffset3D_st {
        size_t x, y, z;
} CUoffset3D;

typedef struct CUextent3D_st {
        size_t width, height, depth;
} CUextent3D;

typedef struct CUmemcpy3DOperand_st {
        CUmemcpy3DOperandType type;
        union {
                struct {
                        CUdeviceptr ptr;
                        size_t rowLength;
                        size_t layerHeight;
                        CUmemLocation locHint;
                } ptr;
                struct {
                        CUarray array;
                        CUoffset3D offset;
                } array;
        } op;
} CUmemcpy3DOperand;
static_assert(sizeof(CUmemcpy3DOperand) == 40, "the driver's layout");

typedef struct CUDA_MEMCPY3D_BATCH_OP_st {
        CUmemcpy3DOperand src;
        CUmemcpy3DOperand dst;
        CUextent3D extent;
        CUmemcpySrcAccessOrder srcAccessOrder;
        unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP;
static_assert(sizeof(CUDA_MEMCPY3D_BATCH_OP) == 112, "the driver's layout");

/* Pointers and managed memory. */
typedef enum CUpointer_attribute_enum {
        CU_POINTER_ATTRIBUTE_CONTEXT = 1,
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
        CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
        CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5,
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
        CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
        CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
        CU_POINTER_ATTRIBUTE_MAPPED = 13,
        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
        CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
        CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
        CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
        CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20,
        CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE = 21,
} CUpointer_attribute;

typedef enum CUmem_advise_enum {
        CU_MEM_ADVISE_SET_READ_MOSTLY = 1,
        CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2,
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4,
        CU_MEM_ADVISE_SET_ACCESSED_BY = 5,
        CU_MEM_ADVISE_UNSET_ACCESSED_BY = 6,
} CUmem_advise;

typedef enum CUmem_range_attribute_enum {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY = 1,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION = 2,
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY = 3,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION = 4,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE = 5,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID = 6,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE = 7,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID = 8,
} CUmem_range_attribute;

/* Pools and mapped memory. */
typedef enum CUmemAllocationHandleType_enum {
        CU_MEM_HANDLE_TYPE_NONE = 0,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
        CU_MEM_HANDLE_TYPE_WIN32 = 2,
        CU_MEM_HANDLE_TYPE_WIN32_KMT = 4,
        CU_MEM_HANDLE_TYPE_FABRIC = 8,
        CU_MEM_HANDLE_TYPE_MAX = 0x7fffffff,
} CUmemAllocationHandleType;

typedef enum CUmemAccess_flags_enum {
        CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
        CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
        CU_MEM_ACCESS_FLAGS_PROT_MAX = 0x7fffffff,
} CUmemAccess_flags;

typedef enum CUmemAllocationType_enum {
        CU_MEM_ALLOCATION_TYPE_INVALID = 0,
        CU_MEM_ALLOCATION_TYPE_PINNED = 1,
        CU_MEM_ALLOCATION_TYPE_MANAGED = 2,
        CU_MEM_ALLOCATION_TYPE_MAX = 0x7fffffff,
} CUmemAllocationType;

typedef enum CUmemAllocationGranularity_flags_enum {
        CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
        CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
} CUmemAllocationGranularity_flags;

typedef enum CUmemRangeHandleType_enum {
        CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1,
        CU_MEM_RANGE_HANDLE_TYPE_MAX = 0x7fffffff,
} CUmemRangeHandleType;

typedef struct CUmemAllocationProp_st {
        CUmemAllocationType type;
        CUmemAllocationHandleType requestedHandleTypes;
        CUmemLocation location;
        void *win32HandleMetaData;
        struct {
                unsigned char compressionType;
                unsigned char gpuDirectRDMACapable;
                unsigned short usage;
                unsigned char reserved[4];
        } allocFlags;
} CUmemAllocationProp;
static_assert(sizeof(CUmemAllocationProp) == 32, "the driver's layout");

typedef struct CUmemAccessDesc_st {
        CUmemLocation location;
        CUmemAccess_flags flags;
} CUmemAccessDesc;
static_assert(sizeof(CUmemAccessDesc) == 12, "the driver's layout");

typedef enum CUmemPool_attribute_enum {
        CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
        CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
} CUmemPool_attribute;

typedef struct CUmemPoolProps_st {
        CUmemAllocationType allocType;
        CUmemAllocationHandleType handleTypes;
        CUmemLocation location;
        void *win32SecurityAttributes;
        size_t maxSize;
        unsigned short usage;
        unsigned char reserved[54];
} CUmemPoolProps;
static_assert(sizeof(CUmemPoolProps) == 88, "the driver's layout");

typedef struct CUmemPoolPtrExportData_st {
        unsigned char reserved[64];
} CUmemPoolPtrExportData;

typedef enum CUgraphMem_attribute_enum {
        CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT = 0,
        CU_GRAPH_MEM_ATTR_USED_MEM_HIGH = 1,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT = 2,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH = 3,
} CUgraphMem_attribute;

typedef struct CUarrayMapInfo_st {
        CUresourcetype resourceType;
        union {
                CUmipmappedArray mipmap;
                CUarray array;
        } resource;
        int subresourceType;
        union {
                struct {
                        unsigned int level;
                        unsigned int layer;
                        unsigned int offsetX;
                        unsigned int offsetY;
                        unsigned int offsetZ;
                        unsigned int extentWidth;
                        unsigned int extentHeight;
                        unsigned int extentDepth;
                } sparseLevel;
                struct {
                        unsigned int layer;
                        unsigned long long offset;
                        unsigned long long size;
                } miptail;
        } subresource;
        int memOperationType;
        int memHandleType;
        union {
                CUmemGenericAllocationHandle memHandle;
        } memHandle;
        unsigned long long offset;
        unsigned int deviceBitMask;
        unsigned int flags;
        unsigned int reserved[2];
} CUarrayMapInfo;
static_assert(sizeof(CUarrayMapInfo) == 96, "the driver's layout");

/* Memory of other makers. */
enum { CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1 };

typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st {
        int type;
        union {
                int fd;
                struct {
                        void *handle;
                        const void *name;
                } win32;
                const void *nvSciBufObject;
        } handle;
        unsigned long long size;
        unsigned int flags;
        unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) == 104, "the driver's layout");

typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st {
        unsigned long long offset;
        unsigned long long size;
        unsigned int flags;
        unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC) == 88, "the driver's layout");

typedef struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st {
        unsigned long long offset;
        CUDA_ARRAY3D_DESCRIPTOR arrayDesc;
        unsigned int numLevels;
        unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC) == 120, "the driver's layout");
