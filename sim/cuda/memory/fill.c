/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemset: fills as work. */
#include <stdlib.h>

#include "capture.h"
#include "copy.h"
#include "copy_shape.h"
#include "resolve.h"
#include "sim_cuda.h"

#define FILL_NS 2000

struct fill {
        CUdeviceptr to;
        size_t pitch, row_bytes, rows;
        uint32_t pattern;
};

static uint32_t pattern_of(unsigned value, unsigned element_bytes)
{
        switch (element_bytes) {
        case 1:
                return (value & 0xff) * UINT32_C(0x01010101);
        case 2:
                return (value & 0xffff) * UINT32_C(0x00010001);
        default:
                return value;
        }
}

static CUresult row_fill(CUdeviceptr to, uint32_t pattern, size_t count)
{
        struct span span;

        while (count) {
                if (!resolve_span(to, count, &span))
                        return CUDA_ERROR_ILLEGAL_ADDRESS;
                contents_fill(span.view, pattern, span.count);
                to += span.count;
                count -= span.count;
        }
        return CUDA_SUCCESS;
}

static CUresult fill_run(void *closure, uint64_t *ret_duration_ns)
{
        const struct fill *fill = closure;
        CUresult r = CUDA_SUCCESS;

        (void)ret_duration_ns;
        if (fill->pitch == fill->row_bytes)
                return row_fill(fill->to, fill->pattern, fill->row_bytes * fill->rows);
        for (size_t y = 0; r == CUDA_SUCCESS && y < fill->rows; y++)
                r = row_fill(fill->to + y * fill->pitch, fill->pattern, fill->row_bytes);
        return r;
}

CUresult fill_check(CUdeviceptr to, size_t pitch, unsigned element_bytes, size_t width,
                    size_t height)
{
        size_t row, extent;

        if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
                return CUDA_ERROR_INVALID_VALUE;
        if (!width || !height)
                return CUDA_SUCCESS;
        if (__builtin_mul_overflow(width, element_bytes, &row) ||
            (height > 1 && (pitch < row || pitch % element_bytes)) || to % element_bytes)
                return CUDA_ERROR_INVALID_VALUE;
        if (__builtin_mul_overflow(pitch, height - 1, &extent) ||
            __builtin_add_overflow(extent, row, &extent))
                return CUDA_ERROR_INVALID_VALUE;
        if (height == 1)
                extent = row;
        return range_is_known(to, extent) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult fill_submit(struct stream *stream, CUdeviceptr to, size_t pitch, unsigned value,
                     unsigned element_bytes, size_t width, size_t height, struct mark *ret_mark)
{
        uint64_t rate = device_gpu(stream->context->device)->memory_bytes_per_s;
        struct fill *fill = malloc(sizeof *fill);

        if (!fill)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *fill = (struct fill){
                .to = to,
                .pitch = height > 1 ? pitch : width * element_bytes,
                .row_bytes = width * element_bytes,
                .rows = height,
                .pattern = pattern_of(value, element_bytes),
        };
        double bytes = (double)fill->row_bytes * (double)height;
        struct work work = {
                .engine = ENGINE_COMPUTE,
                .duration_ns = FILL_NS + (rate ? (uint64_t)(bytes * 1e9 / (double)rate) : 0),
                .run = fill_run,
                .free = free,
                .closure = fill,
        };
        return work_submit(stream, &work, ret_mark);
}

/* All fills: like kernels they return before they are done, unless the memory is the host's. */
static CUresult fill_call(CUstream handle, bool is_async, CUdeviceptr to, size_t pitch,
                          unsigned value, unsigned element_bytes, size_t width, size_t height)
{
        struct stream *stream;
        struct mark mark = { 0 };
        CUresult r = stream_get(handle, &stream);

        if (r == CUDA_SUCCESS && !is_async)
                r = capture_forbids();
        if (r == CUDA_SUCCESS)
                r = fill_check(to, pitch, element_bytes, width, height);
        if (r != CUDA_SUCCESS || !width || !height)
                return r;
        if (is_async && capture_is_active(stream))
                return capture_add_fill(stream, to, pitch, value, element_bytes, width, height);
        struct allocation *allocation = memory_find(to);
        if (is_async || !allocation || !memory_is_on_host(allocation))
                return fill_submit(stream, to, pitch, value, element_bytes, width, height, NULL);
        r = fill_submit(stream, to, pitch, value, element_bytes, width, height, &mark);
        if (r == CUDA_SUCCESS)
                r = mark_wait(&mark);
        mark_done(&mark);
        return r;
}

CUresult sim_cuMemsetD8(CUdeviceptr_v1 dstDevice, unsigned char uc, unsigned int N)
{
        return fill_call(NULL, false, dstDevice, 0, uc, 1, N, 1);
}

CUresult sim_cuMemsetD16(CUdeviceptr_v1 dstDevice, unsigned short us, unsigned int N)
{
        return fill_call(NULL, false, dstDevice, 0, us, 2, N, 1);
}

CUresult sim_cuMemsetD32(CUdeviceptr_v1 dstDevice, unsigned int ui, unsigned int N)
{
        return fill_call(NULL, false, dstDevice, 0, ui, 4, N, 1);
}

CUresult sim_cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
        return fill_call(NULL, false, dstDevice, 0, uc, 1, N, 1);
}

CUresult sim_cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
        return fill_call(NULL, false, dstDevice, 0, us, 2, N, 1);
}

CUresult sim_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
        return fill_call(NULL, false, dstDevice, 0, ui, 4, N, 1);
}

CUresult sim_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
        return fill_call(hStream, true, dstDevice, 0, uc, 1, N, 1);
}

CUresult sim_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
        return fill_call(hStream, true, dstDevice, 0, us, 2, N, 1);
}

CUresult sim_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
        return fill_call(hStream, true, dstDevice, 0, ui, 4, N, 1);
}

CUresult sim_cuMemsetD2D8(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned char uc,
                          unsigned int Width, unsigned int Height)
{
        return fill_call(NULL, false, dstDevice, dstPitch, uc, 1, Width, Height);
}

CUresult sim_cuMemsetD2D16(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned short us,
                           unsigned int Width, unsigned int Height)
{
        return fill_call(NULL, false, dstDevice, dstPitch, us, 2, Width, Height);
}

CUresult sim_cuMemsetD2D32(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned int ui,
                           unsigned int Width, unsigned int Height)
{
        return fill_call(NULL, false, dstDevice, dstPitch, ui, 4, Width, Height);
}

CUresult sim_cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                             size_t Height)
{
        return fill_call(NULL, false, dstDevice, dstPitch, uc, 1, Width, Height);
}

CUresult sim_cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                              size_t Width, size_t Height)
{
        return fill_call(NULL, false, dstDevice, dstPitch, us, 2, Width, Height);
}

CUresult sim_cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                              size_t Height)
{
        return fill_call(NULL, false, dstDevice, dstPitch, ui, 4, Width, Height);
}

CUresult sim_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                               size_t Width, size_t Height, CUstream hStream)
{
        return fill_call(hStream, true, dstDevice, dstPitch, uc, 1, Width, Height);
}

CUresult sim_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                size_t Width, size_t Height, CUstream hStream)
{
        return fill_call(hStream, true, dstDevice, dstPitch, us, 2, Width, Height);
}

CUresult sim_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                size_t Width, size_t Height, CUstream hStream)
{
        return fill_call(hStream, true, dstDevice, dstPitch, ui, 4, Width, Height);
}
