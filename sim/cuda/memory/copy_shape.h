/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of a copy: where each row lies, and on which side of the link. */
#pragma once

#include "contents.h"
#include "cuda_memory_types.h"
#include "memory.h"

enum side_kind { SIDE_PAGEABLE, SIDE_PINNED, SIDE_DEVICE };

/* One end of a copy. */
struct side {
        enum side_kind kind;
        struct device *device;          /* SIDE_DEVICE */
        uint64_t address;               /* of row 0; a pointer of either kind */
        const struct allocation *array; /* ≠ NULL: the address is an offset in its bytes */
        size_t pitch, slice;            /* bytes from row to row, from plane to plane */
};

struct shape {
        struct side from, to;
        size_t width, rows, planes;
};

/* INVALID_VALUE, INVALID_HANDLE … or success: every byte of both ends is there. */
CUresult shape_of(const CUDA_MEMCPY3D_PEER *copy, struct shape *ret_shape);
/* Moves the bytes, now. ILLEGAL_ADDRESS: memory was freed since. */
CUresult shape_copy(const struct shape *shape);

/* True when all of the range is memory the driver knows. */
bool range_is_known(CUdeviceptr address, size_t count);
