/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills as work: used by cuMemcpy*, cuMemset*, and by graph nodes. */
#pragma once

#include "context.h"
#include "cuda_memory_types.h"
#include "work.h"

/* One copy of any shape; arrays allowed. A copy that copy_check() accepts. */
CUresult copy_submit(struct stream *stream, const CUDA_MEMCPY3D_PEER *copy, struct mark *ret_mark);
/* Fills width × height elements of element_bytes (1, 2, 4) with value; pitch in bytes. */
CUresult fill_submit(struct stream *stream, CUdeviceptr to, size_t pitch, unsigned value,
                     unsigned element_bytes, size_t width, size_t height, struct mark *ret_mark);
/* The checks alone, for cuGraphAddMemcpyNode and capture: the error the call must return. */
CUresult copy_check(const CUDA_MEMCPY3D_PEER *copy);
CUresult fill_check(CUdeviceptr to, size_t pitch, unsigned element_bytes, size_t width,
                    size_t height);

/* What a call does: check, then record it (while the stream captures) or do it. With `is_async` it
 * returns as soon as the program may go on. */
CUresult copy_call(CUstream stream, const CUDA_MEMCPY3D_PEER *copy, bool is_async);
