/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: while a stream is capturing, calls become nodes of a graph. Each entry point that
 * adds work asks capture_is_active() first and records through one of these. */
#pragma once

#include <stdbool.h>

#include "work.h"

static inline bool capture_is_active(const struct stream *stream)
{
        return stream->capture != NULL;
}

struct event;
struct launch;
struct pool;
CUresult capture_add_kernel(struct stream *stream, const struct launch *launch);
CUresult capture_add_copy(struct stream *stream, const CUDA_MEMCPY3D_PEER *copy);
CUresult capture_add_fill(struct stream *stream, CUdeviceptr to, size_t pitch, unsigned value,
                          unsigned element_bytes, size_t width, size_t height);
CUresult capture_add_host(struct stream *stream, CUhostFn function, void *closure);
CUresult capture_add_alloc(struct stream *stream, struct pool *pool, size_t bytes,
                           CUdeviceptr *ret);
CUresult capture_add_free(struct stream *stream, CUdeviceptr address);
CUresult capture_add_memops(struct stream *stream, CUstreamBatchMemOpParams *ops, unsigned count);

/* cuEventRecord and cuStreamWaitEvent where the stream, or the event, belongs to a capture. */
CUresult capture_record_event(struct stream *stream, struct event *event, bool is_external);
CUresult capture_wait_event(struct stream *stream, struct event *event, bool is_external);

/* For calls that may not be made while any stream of this thread captures in global or
 * thread-local mode (cuMemAlloc, cuMemFree, cuStreamSynchronize of legacy, …): 0 or the error. */
CUresult capture_forbids(void);
/* For work on a context's legacy stream: it would wait for its blocking streams, which may be
 * capturing. 0 or the error. */
CUresult capture_forbids_legacy(const struct context *context);
/* The call cannot be captured: the capture of this stream is invalid from now on. Returns `error`. */
CUresult capture_break(struct stream *stream, CUresult error);
/* The stream goes: a capture that began here ends, another goes on without it. */
void capture_leave(struct stream *stream);
/* The same for a call about an event that was recorded in a capture. */
CUresult capture_break_event(struct event *event, CUresult error);
