/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory: which pages are on which device, and what moving them costs. */
#pragma once

#include "memory_allocation.h"

/* Where a page is, or should be: a device ordinal, or one of these. */
enum { RESIDENCE_HOST = -1, RESIDENCE_NONE = -2 };

struct managed_page {
        int16_t residence; /* never RESIDENCE_NONE */
        int16_t preferred;
        int16_t prefetched; /* where to, last; RESIDENCE_NONE: never */
        bool is_read_mostly;
        bool is_accessed_by_host;
        bool is_watched;      /* on a GPU, and the host's next use of it will be known */
        uint64_t accessed_by; /* devices, one bit each */
};

struct managed {
        struct allocation *allocation;
        size_t page_count;
        uint64_t owed_bytes; /* the host has fetched them back; the next kernel pays */
        uint64_t touch;      /* number of the last launch that got it */
        struct managed *next, *previous;
        struct managed_page pages[];
};

CUresult managed_alloc(struct context *context, size_t bytes, unsigned flags,
                       CUdeviceptr *ret_address);
void managed_free(struct allocation *allocation);
/* The context goes: its managed memory leaves the GPUs. */
void managed_context_done(struct context *context);

/* True when most of [address, address + count) is on a device now. */
bool managed_is_resident(struct allocation *allocation, CUdeviceptr address, size_t count);
/* Moves the pages of a range. Returns the bytes that had to move. */
uint64_t managed_move(struct allocation *allocation, CUdeviceptr address, size_t count,
                      int residence);

/* What the host has used since a GPU had it is on the host again. */
void managed_notice_host(void);

/* The pages of a range, with the lock held until managed_unlock(); NULL (and no lock): the range is
 * not managed memory. Residency is up to date. */
struct managed_page *managed_lock(CUdeviceptr address, size_t count, size_t *ret_count);
void managed_unlock(void);

/* What a kernel that may touch the managed allocations among these parameter bytes costs in page
 * migration; moves them onto the device. Nanoseconds to add to its duration. */
uint64_t managed_touch(struct context *context, const void *params, size_t size);
