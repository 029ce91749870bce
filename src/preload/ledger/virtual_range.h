/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_range: this process's managed memory that is charged to the host in place of a device, or that must stay
 * where it is charged: each range with its size, its device and what it is charged. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region.h"

enum { VIRTUAL_RANGE_GRANULE_BYTES = 2 << 20 }; /* what is charged to the GPU is whole granules */

struct virtual_range {
        uint64_t address, bytes;
        uint64_t device_bytes; /* charged to the GPU: its first bytes, which belong there */
        uint64_t host_bytes;   /* charged to the host: the remainder, which stays there */
        uint64_t context;      /* goes with it */
        uint64_t pool;         /* where the program believes it to come from; 0: no pool */
        uint64_t event; /* ≠ 0: freed in a stream's order, and to be had when this event has come */
        unsigned device_index;
        uint32_t uses;    /* by kernels, lately */
        int ordinal;      /* CUDA's number of the device */
        int home;         /* the GPU that its first bytes may be on; −1: none */
        bool is_steady;   /* there are other GPUs with limits, which they may not come onto */
        bool is_in_graph; /* a captured kernel uses it */
        bool is_pinned;   /* the program itself has said what is to be on the GPU */
        bool is_fallback; /* for device memory; false: the program asked for managed memory */
};

/* False: out of memory; nothing was added. */
bool virtual_range_add(const struct virtual_range *range);
/* Takes out the range in use that starts there; false: none does. */
bool virtual_range_take(uint64_t address, struct virtual_range *ret_range);
/* The first range, in use or freed, that has a byte of [address, address + bytes). */
bool virtual_range_find(uint64_t address, uint64_t bytes, struct virtual_range *ret_range);
/* Takes out one freed range that suits; the predicate must not come back here. */
bool virtual_range_take_freed(bool (*suits)(const struct virtual_range *range, void *closure),
                              void *closure, struct virtual_range *ret_range);
/* Copies ranges in use on the device, in the order of their addresses, of those above `address`; how many. */
unsigned virtual_range_list(unsigned device_index, uint64_t address,
                            struct virtual_range *ret_ranges, unsigned most);
/* Are there any? A load: for those who would otherwise ask about every pointer. */
bool virtual_range_is_any(void);

/* The program says itself that bytes before `end` of the range with this address are to come onto the GPU, now or in
 * the order of a stream. If all of them belong there, the range does not give way any more. False: they do not. */
bool virtual_range_pin(uint64_t address, uint64_t end);

/* A kernel is about to use the range with this address, or is captured into a graph that will. True: some of it is on
 * the host, and it was used often enough to be worth a check. */
bool virtual_range_use(uint64_t address, bool is_captured);
/* A graph is about to use all that was captured. The addresses of those that are worth a check, as many as fit. */
unsigned virtual_range_use_graphs(uint64_t *ret_addresses, unsigned most);
/* Two ranges exchange what they are charged: bytes that are much used, from `hot` on, go to the GPU, as many bytes of
 * another range, from `cold` on, to the host. */
struct virtual_exchange {
        uint64_t hot, hot_bytes, cold, cold_bytes;
        int ordinal;
};
/* The range with this address, and the one that was used least: less than half as often. False: there is none. */
bool virtual_range_exchange(uint64_t address, struct virtual_exchange *ret_exchange);

/* Gives back what the range was charged in the region. */
void virtual_range_refund(const struct virtual_range *range, struct region *region);
/* Forgets the ranges of a context that is gone, and gives back what they were charged. */
void virtual_range_release_context(uint64_t context, struct region *region);
/* Forgets everything: a forked child holds nothing. */
void virtual_range_clear(void);
