/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the CUDA driver API for graphs. */
#pragma once

#include "cuda_exec_types.h"
#include "cuda_memory_types.h"

typedef enum CUgraphNodeType_enum {
        CU_GRAPH_NODE_TYPE_KERNEL = 0,
        CU_GRAPH_NODE_TYPE_MEMCPY = 1,
        CU_GRAPH_NODE_TYPE_MEMSET = 2,
        CU_GRAPH_NODE_TYPE_HOST = 3,
        CU_GRAPH_NODE_TYPE_GRAPH = 4,
        CU_GRAPH_NODE_TYPE_EMPTY = 5,
        CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6,
        CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7,
        CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL = 8,
        CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT = 9,
        CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10,
        CU_GRAPH_NODE_TYPE_MEM_FREE = 11,
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP = 12,
        CU_GRAPH_NODE_TYPE_CONDITIONAL = 13,
} CUgraphNodeType;

typedef struct CUDA_KERNEL_NODE_PARAMS_st {
        CUfunction func;
        unsigned int gridDimX, gridDimY, gridDimZ;
        unsigned int blockDimX, blockDimY, blockDimZ;
        unsigned int sharedMemBytes;
        void **kernelParams;
        void **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v1) == 56, "ABI");

typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
        CUfunction func; /* NULL: `kern` */
        unsigned int gridDimX, gridDimY, gridDimZ;
        unsigned int blockDimX, blockDimY, blockDimZ;
        unsigned int sharedMemBytes;
        void **kernelParams;
        void **extra;
        CUkernel kern;
        CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72, "ABI");

typedef struct CUDA_MEMCPY_NODE_PARAMS_st {
        int flags;
        int reserved;
        CUcontext copyCtx;
        CUDA_MEMCPY3D copyParams;
} CUDA_MEMCPY_NODE_PARAMS;
static_assert(sizeof(CUDA_MEMCPY_NODE_PARAMS) == 216, "ABI");

typedef struct CUDA_MEMSET_NODE_PARAMS_st {
        CUdeviceptr dst;
        size_t pitch;
        unsigned int value;
        unsigned int elementSize;
        size_t width;
        size_t height;
} CUDA_MEMSET_NODE_PARAMS;
static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == 40, "ABI");

typedef struct CUDA_MEMSET_NODE_PARAMS_v2_st {
        CUdeviceptr dst;
        size_t pitch;
        unsigned int value;
        unsigned int elementSize;
        size_t width;
        size_t height;
        CUcontext ctx;
} CUDA_MEMSET_NODE_PARAMS_v2;
static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS_v2) == 48, "ABI");

typedef struct CUDA_HOST_NODE_PARAMS_st {
        CUhostFn fn;
        void *userData;
} CUDA_HOST_NODE_PARAMS;

typedef struct CUDA_CHILD_GRAPH_NODE_PARAMS_st {
        CUgraph graph;
        int ownership; /* 0: the node clones it; 1: it becomes the node's */
} CUDA_CHILD_GRAPH_NODE_PARAMS;

typedef struct CUDA_EVENT_NODE_PARAMS_st {
        CUevent event;
} CUDA_EVENT_NODE_PARAMS;

typedef struct CUDA_MEM_ALLOC_NODE_PARAMS_st {
        CUmemPoolProps poolProps;
        const CUmemAccessDesc *accessDescs;
        size_t accessDescCount;
        size_t bytesize;
        CUdeviceptr dptr; /* the answer */
} CUDA_MEM_ALLOC_NODE_PARAMS;
static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == 120, "ABI");

typedef struct CUDA_MEM_FREE_NODE_PARAMS_st {
        CUdeviceptr dptr;
} CUDA_MEM_FREE_NODE_PARAMS;

typedef struct CUDA_BATCH_MEM_OP_NODE_PARAMS_st {
        CUcontext ctx;
        unsigned int count;
        CUstreamBatchMemOpParams *paramArray;
        unsigned int flags;
} CUDA_BATCH_MEM_OP_NODE_PARAMS;
static_assert(sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS) == 32, "ABI");

typedef enum CUgraphConditionalNodeType_enum {
        CU_GRAPH_COND_TYPE_IF = 0,
        CU_GRAPH_COND_TYPE_WHILE = 1,
        CU_GRAPH_COND_TYPE_SWITCH = 2,
} CUgraphConditionalNodeType;

#define CU_GRAPH_COND_ASSIGN_DEFAULT 0x1

typedef struct CUDA_CONDITIONAL_NODE_PARAMS_st {
        CUgraphConditionalHandle handle;
        CUgraphConditionalNodeType type;
        unsigned int size;
        CUgraph *phGraph_out;
        CUcontext ctx;
} CUDA_CONDITIONAL_NODE_PARAMS;
static_assert(sizeof(CUDA_CONDITIONAL_NODE_PARAMS) == 32, "ABI");

typedef struct CUgraphNodeParams_st {
        CUgraphNodeType type;
        int reserved0[3];
        union {
                long long reserved1[29];
                CUDA_KERNEL_NODE_PARAMS kernel;
                CUDA_MEMCPY_NODE_PARAMS memcpy;
                CUDA_MEMSET_NODE_PARAMS_v2 memset;
                CUDA_HOST_NODE_PARAMS host;
                CUDA_CHILD_GRAPH_NODE_PARAMS graph;
                CUDA_EVENT_NODE_PARAMS eventWait;
                CUDA_EVENT_NODE_PARAMS eventRecord;
                CUDA_MEM_ALLOC_NODE_PARAMS alloc;
                CUDA_MEM_FREE_NODE_PARAMS free;
                CUDA_BATCH_MEM_OP_NODE_PARAMS memOp;
                CUDA_CONDITIONAL_NODE_PARAMS conditional;
        };
        long long reserved2;
} CUgraphNodeParams;
static_assert(sizeof(CUgraphNodeParams) == 256, "ABI");

typedef struct CUgraphEdgeData_st {
        unsigned char from_port;
        unsigned char to_port;
        unsigned char type;
        unsigned char reserved[5];
} CUgraphEdgeData;
static_assert(sizeof(CUgraphEdgeData) == 8, "ABI");

#define CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER 2
#define CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC  1

typedef enum CUgraphInstantiate_flags_enum {
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH = 1,
        CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD = 2,
        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH = 4,
        CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY = 8,
} CUgraphInstantiate_flags;

typedef enum CUgraphInstantiateResult_enum {
        CUDA_GRAPH_INSTANTIATE_SUCCESS = 0,
        CUDA_GRAPH_INSTANTIATE_ERROR = 1,
        CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE = 2,
        CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED = 3,
        CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED = 4,
        CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED = 5,
} CUgraphInstantiateResult;

typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS_st {
        cuuint64_t flags;
        CUstream hUploadStream;
        CUgraphNode hErrNode_out;
        CUgraphInstantiateResult result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;
static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == 32, "ABI");

typedef enum CUgraphExecUpdateResult_enum {
        CU_GRAPH_EXEC_UPDATE_SUCCESS = 0,
        CU_GRAPH_EXEC_UPDATE_ERROR = 1,
        CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2,
        CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3,
        CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED = 4,
        CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED = 5,
        CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED = 6,
        CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE = 7,
        CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED = 8,
} CUgraphExecUpdateResult;

typedef struct CUgraphExecUpdateResultInfo_st {
        CUgraphExecUpdateResult result;
        CUgraphNode errorNode;
        CUgraphNode errorFromNode;
} CUgraphExecUpdateResultInfo;
static_assert(sizeof(CUgraphExecUpdateResultInfo) == 24, "ABI");

#define CU_USER_OBJECT_NO_DESTRUCTOR_SYNC 1
#define CU_GRAPH_USER_OBJECT_MOVE         1

typedef enum CUgraphDebugDot_flags_enum {
        CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE = 1 << 0,
        CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES = 1 << 10,
        CU_GRAPH_DEBUG_DOT_FLAGS_ALL = (1 << 16) - 1,
} CUgraphDebugDot_flags;
