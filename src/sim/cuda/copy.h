/* Copies and fills as work: used by cuMemcpy*, cuMemset*, and by graph nodes. */
#pragma once

#include "context.h"
#include "work.h"

/* One copy of any shape; memory types already resolved (no UNIFIED left), arrays allowed. */
CUresult copy_submit(struct stream *stream, const CUDA_MEMCPY3D_PEER *copy, struct mark *ret_mark);
/* Fills width × height elements of element_bytes (1, 2, 4) with value; pitch in bytes. */
CUresult fill_submit(struct stream *stream, CUdeviceptr to, size_t pitch, unsigned value,
                     unsigned element_bytes, size_t width, size_t height, struct mark *ret_mark);
/* The checks alone, for cuGraphAddMemcpyNode and capture: the error the call must return. */
CUresult copy_check(const CUDA_MEMCPY3D_PEER *copy);
CUresult fill_check(CUdeviceptr to, size_t pitch, unsigned element_bytes, size_t width, size_t height);
