/* Capture where there is none: weak answers, which capture.c replaces. */
#include "capture.h"

#define WEAK __attribute__((weak))

WEAK CUresult capture_forbids(void)
{
        return CUDA_SUCCESS;
}

WEAK CUresult capture_add_copy(struct stream *stream, const CUDA_MEMCPY3D_PEER *copy)
{
        (void)stream, (void)copy;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

WEAK CUresult capture_add_fill(struct stream *stream, CUdeviceptr to, size_t pitch, unsigned value,
                               unsigned element_bytes, size_t width, size_t height)
{
        (void)stream, (void)to, (void)pitch, (void)value, (void)element_bytes, (void)width, (void)height;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

WEAK CUresult capture_add_alloc(struct stream *stream, struct pool *pool, size_t bytes, CUdeviceptr *ret)
{
        (void)stream, (void)pool, (void)bytes, (void)ret;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

WEAK CUresult capture_add_free(struct stream *stream, CUdeviceptr address)
{
        (void)stream, (void)address;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
