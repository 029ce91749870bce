/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped memory: physical handles, and addresses that they are mapped to. */
#pragma once

#include "arena.h"
#include "cuda_memory_types.h"

/* Physical memory. Charged until it is released and unmapped. */
struct physical {
        CUmemGenericAllocationHandle handle;
        CUmemAllocationProp props;
        struct device *device;
        size_t size;
        struct piece *run;   /* its contents: the run's own address is never told */
        unsigned references; /* cuMemCreate, cuMemRetainAllocationHandle, … */
        unsigned mappings;
        bool is_imported; /* the exporter pays */
        int fd;           /* of the file that holds its exported contents; −1: private */
        int reference; /* of an import: keeps it, as exported handles do (reference.h); −1: ours */
        uint32_t row;  /* exported in this row of the machine */
        uint64_t number; /* of that row; 0: not exported */
        struct physical *next;
};

/* One cuMemMap: the `owner` of its allocation. */
struct mapping {
        struct piece *piece; /* its allocation is what memory_find() gives */
        struct physical *physical;
        uint64_t readers, writers; /* devices, one bit each */
        struct mapping *next;
};

/* Guards all physical memory, reservations and mappings. Taken before the arena's lock. */
void vmm_lock(void);
void vmm_unlock(void);

/* With the lock held. NULL: no such handle. */
struct physical *physical_get(CUmemGenericAllocationHandle handle);
CUresult physical_new(struct device *device, size_t size, const CUmemAllocationProp *props,
                      bool is_imported, struct physical **ret_physical);
/* Drops one reference or mapping. */
void physical_put(struct physical *physical, unsigned *count);

/* True: the mapping lets the device use it so. */
bool vmm_allows(const struct allocation *mapping, const struct device *device, bool is_write);
unsigned vmm_handle_types(const struct allocation *mapping);
