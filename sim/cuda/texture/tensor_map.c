/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps: checked and kept. The interpreter has no bulk tensor copies, so nobody reads them. */
#include <string.h>

#include "memory.h"
#include "sim_cuda.h"

enum { TENSOR_RANK = 5, TENSOR_TYPES = 16, TENSOR_ADDRESS_WORD = 0 };

/* What every kind of map must say. */
static CUresult map_check(const CUtensorMap *map, int type, unsigned rank, const void *address,
                          const cuuint64_t *dims, const cuuint64_t *strides,
                          const cuuint32_t *element_strides)
{
        if (!map || (uintptr_t)map % 64 || type < 0 || type >= TENSOR_TYPES || !rank ||
            rank > TENSOR_RANK || !address || (uintptr_t)address % 16 || !dims || !element_strides)
                return CUDA_ERROR_INVALID_VALUE;
        if (rank > 1 && !strides)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < rank; i++) {
                if (!dims[i] || dims[i] > UINT64_C(1) << 32 || !element_strides[i] ||
                    element_strides[i] > 8)
                        return CUDA_ERROR_INVALID_VALUE;
                if (i + 1 < rank && (strides[i] % 16 || strides[i] >= UINT64_C(1) << 40))
                        return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
}

static void map_write(CUtensorMap *map, int type, unsigned rank, const void *address,
                      const cuuint64_t *dims, const cuuint64_t *strides)
{
        memset(map, 0, sizeof *map);
        map->opaque[TENSOR_ADDRESS_WORD] = (uintptr_t)address;
        map->opaque[1] = (uint64_t)type | (uint64_t)rank << 8;
        for (unsigned i = 0; i < rank; i++) {
                map->opaque[2 + i] = dims[i];
                map->opaque[8 + i] = i + 1 < rank ? strides[i] : 0;
        }
}

CUresult sim_cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                    cuuint32_t tensorRank, void *globalAddress,
                                    const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                    const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion l2Promotion,
                                    CUtensorMapFloatOOBfill oobFill)
{
        CUresult r = map_check(tensorMap, (int)tensorDataType, tensorRank, globalAddress, globalDim,
                               globalStrides, elementStrides);

        (void)interleave, (void)swizzle, (void)l2Promotion, (void)oobFill;
        if (r != CUDA_SUCCESS || !boxDim)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < tensorRank; i++)
                if (!boxDim[i] || boxDim[i] > 256)
                        return CUDA_ERROR_INVALID_VALUE;
        map_write(tensorMap, (int)tensorDataType, tensorRank, globalAddress, globalDim,
                  globalStrides);
        return CUDA_SUCCESS;
}

CUresult sim_cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                     cuuint32_t tensorRank, void *globalAddress,
                                     const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                     const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
                                     cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn,
                                     const cuuint32_t *elementStrides,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion l2Promotion,
                                     CUtensorMapFloatOOBfill oobFill)
{
        CUresult r = map_check(tensorMap, (int)tensorDataType, tensorRank, globalAddress, globalDim,
                               globalStrides, elementStrides);

        (void)interleave, (void)swizzle, (void)l2Promotion, (void)oobFill;
        if (r != CUDA_SUCCESS || tensorRank < 3 || !pixelBoxLowerCorner || !pixelBoxUpperCorner ||
            channelsPerPixel > 256 || pixelsPerColumn > 1024)
                return CUDA_ERROR_INVALID_VALUE;
        map_write(tensorMap, (int)tensorDataType, tensorRank, globalAddress, globalDim,
                  globalStrides);
        return CUDA_SUCCESS;
}

CUresult sim_cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
        if (!tensorMap || (uintptr_t)tensorMap % 64 || !globalAddress ||
            (uintptr_t)globalAddress % 16)
                return CUDA_ERROR_INVALID_VALUE;
        tensorMap->opaque[TENSOR_ADDRESS_WORD] = (uintptr_t)globalAddress;
        return CUDA_SUCCESS;
}
