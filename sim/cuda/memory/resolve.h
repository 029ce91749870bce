/* SPDX-License-Identifier: Apache-2.0 */
/* From a device address to bytes. */
#pragma once

#include "contents.h"
#include "memory.h"

/* A contiguous part of what an address range means. */
struct span {
        struct allocation *allocation; /* NULL: free memory of a pool */
        struct view view;
        size_t count;         /* bytes from the address on that the view covers */
        size_t before, after; /* more of the same allocation around it */
};

struct view allocation_view(const struct allocation *allocation, CUdeviceptr address);
/* The first part of [address, address + count); false: nothing is there. */
bool resolve_span(CUdeviceptr address, size_t count, struct span *ret_span);
