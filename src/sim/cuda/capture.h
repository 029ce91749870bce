/* Stream capture: while a stream is capturing, calls become nodes of a graph. Each entry point that
 * adds work asks capture_is_active() first and records through one of these. */
#pragma once

#include <stdbool.h>

#include "work.h"

static inline bool capture_is_active(const struct stream *stream)
{
        return stream->capture != NULL;
}

struct launch;
CUresult capture_add_kernel(struct stream *stream, const struct launch *launch);
CUresult capture_add_copy(struct stream *stream, const CUDA_MEMCPY3D_PEER *copy);
CUresult capture_add_fill(struct stream *stream, CUdeviceptr to, size_t pitch, unsigned value,
                          unsigned element_bytes, size_t width, size_t height);
CUresult capture_add_host(struct stream *stream, CUhostFn function, void *closure);
CUresult capture_add_alloc(struct stream *stream, struct pool *pool, size_t bytes, CUdeviceptr *ret);
CUresult capture_add_free(struct stream *stream, CUdeviceptr address);
CUresult capture_add_empty(struct stream *stream);
/* For calls that may not be made while any stream of this thread captures in global or
 * thread-local mode (cuMemAlloc, cuMemFree, cuStreamSynchronize of legacy, …): 0 or the error. */
CUresult capture_forbids(void);
