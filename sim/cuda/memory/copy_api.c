/* SPDX-License-Identifier: Apache-2.0 */
/* The one-dimensional cuMemcpy calls: each is one copy of one row. */
#include "copy.h"
#include "sim_cuda.h"

/* One end of a copy. */
static void from_host(CUDA_MEMCPY3D_PEER *copy, const void *host)
{
        copy->srcMemoryType = CU_MEMORYTYPE_HOST;
        copy->srcHost = host;
}

static void from_device(CUDA_MEMCPY3D_PEER *copy, CUdeviceptr device)
{
        copy->srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy->srcDevice = device;
}

static void from_array(CUDA_MEMCPY3D_PEER *copy, CUarray array, size_t offset)
{
        copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->srcArray = array;
        copy->srcXInBytes = offset;
}

static void to_host(CUDA_MEMCPY3D_PEER *copy, void *host)
{
        copy->dstMemoryType = CU_MEMORYTYPE_HOST;
        copy->dstHost = host;
}

static void to_device(CUDA_MEMCPY3D_PEER *copy, CUdeviceptr device)
{
        copy->dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy->dstDevice = device;
}

static void to_array(CUDA_MEMCPY3D_PEER *copy, CUarray array, size_t offset)
{
        copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->dstArray = array;
        copy->dstXInBytes = offset;
}

static CUDA_MEMCPY3D_PEER row_of(size_t bytes)
{
        return (CUDA_MEMCPY3D_PEER){ .WidthInBytes = bytes, .Height = 1, .Depth = 1 };
}

static CUresult host_to_device(CUdeviceptr to, const void *from, size_t bytes, CUstream stream,
                               bool is_async)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_host(&copy, from);
        to_device(&copy, to);
        return copy_call(stream, &copy, is_async);
}

static CUresult device_to_host(void *to, CUdeviceptr from, size_t bytes, CUstream stream,
                               bool is_async)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_device(&copy, from);
        to_host(&copy, to);
        return copy_call(stream, &copy, is_async);
}

static CUresult device_to_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
                                 bool is_async)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_device(&copy, from);
        to_device(&copy, to);
        return copy_call(stream, &copy, is_async);
}

static CUresult host_to_array(CUarray to, size_t offset, const void *from, size_t bytes,
                              CUstream stream, bool is_async)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_host(&copy, from);
        to_array(&copy, to, offset);
        return copy_call(stream, &copy, is_async);
}

static CUresult array_to_host(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream,
                              bool is_async)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_array(&copy, from, offset);
        to_host(&copy, to);
        return copy_call(stream, &copy, is_async);
}

static CUresult device_to_array(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_device(&copy, from);
        to_array(&copy, to, offset);
        return copy_call(NULL, &copy, false);
}

static CUresult array_to_device(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_array(&copy, from, offset);
        to_device(&copy, to);
        return copy_call(NULL, &copy, false);
}

static CUresult array_to_array(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
                               size_t bytes)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        from_array(&copy, from, from_offset);
        to_array(&copy, to, to_offset);
        return copy_call(NULL, &copy, false);
}

static CUresult unified(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
                        bool is_async)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        copy.srcDevice = from;
        copy.dstDevice = to;
        return copy_call(stream, &copy, is_async);
}

static CUresult peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                     size_t bytes, CUstream stream, bool is_async)
{
        CUDA_MEMCPY3D_PEER copy = row_of(bytes);

        if (!context_get(to_context) || !context_get(from_context))
                return CUDA_ERROR_INVALID_CONTEXT;
        from_device(&copy, from);
        to_device(&copy, to);
        copy.srcContext = from_context;
        copy.dstContext = to_context;
        return copy_call(stream, &copy, is_async);
}

CUresult sim_cuMemcpyHtoD(CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount)
{
        return host_to_device(dstDevice, srcHost, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
        return host_to_device(dstDevice, srcHost, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyHtoDAsync(CUdeviceptr_v1 dstDevice, const void *srcHost,
                               unsigned int ByteCount, CUstream hStream)
{
        return host_to_device(dstDevice, srcHost, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                  CUstream hStream)
{
        return host_to_device(dstDevice, srcHost, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyDtoH(void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount)
{
        return device_to_host(dstHost, srcDevice, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
        return device_to_host(dstHost, srcDevice, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyDtoHAsync(void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount,
                               CUstream hStream)
{
        return device_to_host(dstHost, srcDevice, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                  CUstream hStream)
{
        return device_to_host(dstHost, srcDevice, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyDtoD(CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice,
                          unsigned int ByteCount)
{
        return device_to_device(dstDevice, srcDevice, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
        return device_to_device(dstDevice, srcDevice, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyDtoDAsync(CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice,
                               unsigned int ByteCount, CUstream hStream)
{
        return device_to_device(dstDevice, srcDevice, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                  CUstream hStream)
{
        return device_to_device(dstDevice, srcDevice, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyHtoA(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
                          unsigned int ByteCount)
{
        return host_to_array(dstArray, dstOffset, srcHost, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                             size_t ByteCount)
{
        return host_to_array(dstArray, dstOffset, srcHost, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyHtoAAsync(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
                               unsigned int ByteCount, CUstream hStream)
{
        return host_to_array(dstArray, dstOffset, srcHost, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                  size_t ByteCount, CUstream hStream)
{
        return host_to_array(dstArray, dstOffset, srcHost, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyAtoH(void *dstHost, CUarray srcArray, unsigned int srcOffset,
                          unsigned int ByteCount)
{
        return array_to_host(dstHost, srcArray, srcOffset, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
        return array_to_host(dstHost, srcArray, srcOffset, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyAtoHAsync(void *dstHost, CUarray srcArray, unsigned int srcOffset,
                               unsigned int ByteCount, CUstream hStream)
{
        return array_to_host(dstHost, srcArray, srcOffset, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                  size_t ByteCount, CUstream hStream)
{
        return array_to_host(dstHost, srcArray, srcOffset, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyDtoA(CUarray dstArray, unsigned int dstOffset, CUdeviceptr_v1 srcDevice,
                          unsigned int ByteCount)
{
        return device_to_array(dstArray, dstOffset, srcDevice, ByteCount);
}

CUresult sim_cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                             size_t ByteCount)
{
        return device_to_array(dstArray, dstOffset, srcDevice, ByteCount);
}

CUresult sim_cuMemcpyAtoD(CUdeviceptr_v1 dstDevice, CUarray srcArray, unsigned int srcOffset,
                          unsigned int ByteCount)
{
        return array_to_device(dstDevice, srcArray, srcOffset, ByteCount);
}

CUresult sim_cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                             size_t ByteCount)
{
        return array_to_device(dstDevice, srcArray, srcOffset, ByteCount);
}

CUresult sim_cuMemcpyAtoA(CUarray dstArray, unsigned int dstOffset, CUarray srcArray,
                          unsigned int srcOffset, unsigned int ByteCount)
{
        return array_to_array(dstArray, dstOffset, srcArray, srcOffset, ByteCount);
}

CUresult sim_cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                             size_t ByteCount)
{
        return array_to_array(dstArray, dstOffset, srcArray, srcOffset, ByteCount);
}

CUresult sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
        return unified(dst, src, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
        return unified(dst, src, ByteCount, hStream, true);
}

CUresult sim_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                          CUcontext srcContext, size_t ByteCount)
{
        return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, false);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                               CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
        return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}
