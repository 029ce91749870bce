/* SPDX-License-Identifier: Apache-2.0 */
/* The two- and three-dimensional cuMemcpy calls, and batches. */
#include <string.h>

#include "array.h"
#include "copy.h"
#include "sim_cuda.h"

/* Every older form as the newest one. */
static CUDA_MEMCPY3D_PEER wide_2d_v1(const CUDA_MEMCPY2D_v1 *c)
{
        return (CUDA_MEMCPY3D_PEER){
                .srcXInBytes = c->srcXInBytes,
                .srcY = c->srcY,
                .srcMemoryType = c->srcMemoryType,
                .srcHost = c->srcHost,
                .srcDevice = c->srcDevice,
                .srcArray = c->srcArray,
                .srcPitch = c->srcPitch,
                .dstXInBytes = c->dstXInBytes,
                .dstY = c->dstY,
                .dstMemoryType = c->dstMemoryType,
                .dstHost = c->dstHost,
                .dstDevice = c->dstDevice,
                .dstArray = c->dstArray,
                .dstPitch = c->dstPitch,
                .WidthInBytes = c->WidthInBytes,
                .Height = c->Height,
                .Depth = 1,
        };
}

static CUDA_MEMCPY3D_PEER wide_2d(const CUDA_MEMCPY2D *c)
{
        return (CUDA_MEMCPY3D_PEER){
                .srcXInBytes = c->srcXInBytes,
                .srcY = c->srcY,
                .srcMemoryType = c->srcMemoryType,
                .srcHost = c->srcHost,
                .srcDevice = c->srcDevice,
                .srcArray = c->srcArray,
                .srcPitch = c->srcPitch,
                .dstXInBytes = c->dstXInBytes,
                .dstY = c->dstY,
                .dstMemoryType = c->dstMemoryType,
                .dstHost = c->dstHost,
                .dstDevice = c->dstDevice,
                .dstArray = c->dstArray,
                .dstPitch = c->dstPitch,
                .WidthInBytes = c->WidthInBytes,
                .Height = c->Height,
                .Depth = 1,
        };
}

static CUDA_MEMCPY3D_PEER wide_3d_v1(const CUDA_MEMCPY3D_v1 *c)
{
        return (CUDA_MEMCPY3D_PEER){
                .srcXInBytes = c->srcXInBytes,
                .srcY = c->srcY,
                .srcZ = c->srcZ,
                .srcLOD = c->srcLOD,
                .srcMemoryType = c->srcMemoryType,
                .srcHost = c->srcHost,
                .srcDevice = c->srcDevice,
                .srcArray = c->srcArray,
                .srcPitch = c->srcPitch,
                .srcHeight = c->srcHeight,
                .dstXInBytes = c->dstXInBytes,
                .dstY = c->dstY,
                .dstZ = c->dstZ,
                .dstLOD = c->dstLOD,
                .dstMemoryType = c->dstMemoryType,
                .dstHost = c->dstHost,
                .dstDevice = c->dstDevice,
                .dstArray = c->dstArray,
                .dstPitch = c->dstPitch,
                .dstHeight = c->dstHeight,
                .WidthInBytes = c->WidthInBytes,
                .Height = c->Height,
                .Depth = c->Depth,
        };
}

static CUDA_MEMCPY3D_PEER wide_3d(const CUDA_MEMCPY3D *c)
{
        CUDA_MEMCPY3D_PEER wide;

        memcpy(&wide, c, sizeof wide);
        wide.srcContext = wide.dstContext = NULL;
        return wide;
}

static CUresult call_2d_v1(const CUDA_MEMCPY2D_v1 *copy, CUstream stream, bool is_async)
{
        CUDA_MEMCPY3D_PEER wide;

        if (copy)
                wide = wide_2d_v1(copy);
        return copy_call(stream, copy ? &wide : NULL, is_async);
}

static CUresult call_2d(const CUDA_MEMCPY2D *copy, CUstream stream, bool is_async)
{
        CUDA_MEMCPY3D_PEER wide;

        if (copy)
                wide = wide_2d(copy);
        return copy_call(stream, copy ? &wide : NULL, is_async);
}

static CUresult call_3d_v1(const CUDA_MEMCPY3D_v1 *copy, CUstream stream, bool is_async)
{
        CUDA_MEMCPY3D_PEER wide;

        if (copy)
                wide = wide_3d_v1(copy);
        return copy_call(stream, copy ? &wide : NULL, is_async);
}

static CUresult call_3d(const CUDA_MEMCPY3D *copy, CUstream stream, bool is_async)
{
        CUDA_MEMCPY3D_PEER wide;

        if (copy)
                wide = wide_3d(copy);
        return copy_call(stream, copy ? &wide : NULL, is_async);
}

CUresult sim_cuMemcpy2D(const CUDA_MEMCPY2D_v1 *pCopy)
{
        return call_2d_v1(pCopy, NULL, false);
}

CUresult sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *pCopy, CUstream hStream)
{
        return call_2d_v1(pCopy, hStream, true);
}

CUresult sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *pCopy)
{
        return call_2d_v1(pCopy, NULL, false);
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
        return call_2d(pCopy, NULL, false);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
        return call_2d(pCopy, hStream, true);
}

CUresult sim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
        return call_2d(pCopy, NULL, false);
}

CUresult sim_cuMemcpy3D(const CUDA_MEMCPY3D_v1 *pCopy)
{
        return call_3d_v1(pCopy, NULL, false);
}

CUresult sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *pCopy, CUstream hStream)
{
        return call_3d_v1(pCopy, hStream, true);
}

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
        return call_3d(pCopy, NULL, false);
}

CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
        return call_3d(pCopy, hStream, true);
}

CUresult sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
        return copy_call(NULL, pCopy, false);
}

CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
        return copy_call(hStream, pCopy, true);
}

static CUresult batch_check(size_t count, const CUmemcpyAttributes *attributes,
                            const size_t *starts, size_t attribute_count)
{
        if (!count || !attributes || !starts || !attribute_count || attribute_count > count ||
            starts[0])
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < attribute_count; i++)
                if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
                    attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
                    starts[i] >= count || (i && starts[i] <= starts[i - 1]))
                        return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

/* Batches may not be captured, and need a stream of their own. */
static CUresult batch_stream(CUstream handle)
{
        struct stream *stream;
        CUresult r = stream_get(handle, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (stream->capture)
                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        return stream->is_legacy ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult sim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                                size_t *failIdx, CUstream hStream)
{
        CUresult r = batch_stream(hStream);

        if (failIdx)
                *failIdx = SIZE_MAX;
        if (r == CUDA_SUCCESS)
                r = dsts && srcs && sizes ? batch_check(count, attrs, attrsIdxs, numAttrs)
                                          : CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
                CUDA_MEMCPY3D_PEER copy = {
                        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                        .srcDevice = srcs[i],
                        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                        .dstDevice = dsts[i],
                        .WidthInBytes = sizes[i],
                        .Height = 1,
                        .Depth = 1,
                };
                r = copy_call(hStream, &copy, true);
                if (r != CUDA_SUCCESS && failIdx)
                        *failIdx = i;
        }
        return r;
}

CUresult sim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                   size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                   size_t numAttrs, CUstream hStream)
{
        return sim_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL,
                                      hStream);
}

/* Batches count in elements of an array; between pointers an element is a byte. */
static size_t operand_element(const CUmemcpy3DOperand *operand)
{
        struct array *array = operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY
                                      ? array_get(operand->op.array.array)
                                      : NULL;

        return array ? array->element_bytes : 0;
}

static CUresult batch_op(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
        size_t element = operand_element(&op->src);

        if (!element)
                element = operand_element(&op->dst);
        if (!element)
                element = 1;
        CUDA_MEMCPY3D_PEER copy = {
                .WidthInBytes = op->extent.width * element,
                .Height = op->extent.height,
                .Depth = op->extent.depth,
                .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        };
        if (op->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
                copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
                copy.srcArray = op->src.op.array.array;
                copy.srcXInBytes = op->src.op.array.offset.x * element;
                copy.srcY = op->src.op.array.offset.y;
                copy.srcZ = op->src.op.array.offset.z;
        } else {
                copy.srcDevice = op->src.op.ptr.ptr;
                copy.srcPitch = op->src.op.ptr.rowLength * element;
                copy.srcHeight = op->src.op.ptr.layerHeight;
        }
        if (op->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
                copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
                copy.dstArray = op->dst.op.array.array;
                copy.dstXInBytes = op->dst.op.array.offset.x * element;
                copy.dstY = op->dst.op.array.offset.y;
                copy.dstZ = op->dst.op.array.offset.z;
        } else {
                copy.dstDevice = op->dst.op.ptr.ptr;
                copy.dstPitch = op->dst.op.ptr.rowLength * element;
                copy.dstHeight = op->dst.op.ptr.layerHeight;
        }
        return copy_call(stream, &copy, true);
}

CUresult sim_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                                  unsigned long long flags, CUstream hStream)
{
        CUresult r = batch_stream(hStream);

        if (failIdx)
                *failIdx = SIZE_MAX;
        if (r == CUDA_SUCCESS && (!numOps || !opList || flags))
                r = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; r == CUDA_SUCCESS && i < numOps; i++) {
                r = batch_op(&opList[i], hStream);
                if (r != CUDA_SUCCESS && failIdx)
                        *failIdx = i;
        }
        return r;
}

CUresult sim_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                     unsigned long long flags, CUstream hStream)
{
        return sim_cuMemcpy3DBatchAsync(numOps, opList, NULL, flags, hStream);
}
