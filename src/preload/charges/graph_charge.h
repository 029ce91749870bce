/* SPDX-License-Identifier: Apache-2.0 */
/* graph_charge: memory that graphs allocate. The driver keeps it in a pool of each device, apart from
 * other pools, and takes it when a node is added, or when a graph is instantiated, uploaded or
 * launched: which of these is its secret. So each of them is held to the limit, by the driver's own
 * figure of that pool. */
#pragma once

#include "gate_memory.h"
#include "real.h"

enum { GRAPH_DEVICES = 64 };

/* What the allocations of a graph add up to, device by device (CUDA's numbers). */
struct graph_need {
        uint64_t devices; /* a bit each */
        uint64_t bytes[GRAPH_DEVICES];
};

/* Set aside for one call. */
struct graph_charge {
        uint64_t devices;
        struct charge charges[GRAPH_DEVICES];
};

/* Has a graph of this process had memory? Until then there is nothing to charge. */
extern _Atomic bool graph_charge_used;
static inline bool graph_charge_is_used(void)
{
        return atomic_load_explicit(&graph_charge_used, memory_order_relaxed);
}

/* One allocation. */
void graph_need_one(struct graph_need *ret_need, int ordinal, uint64_t bytes);
/* All of a graph's, also of the graphs inside it; nothing as long as no graph has had any. */
void graph_need_of(struct graph_need *ret_need, CUgraph graph);
/* All of an instance's: one look-up. */
void graph_need_of_instance(struct graph_need *ret_need, CUgraphExec instance);

/* Before the call: what the pools do not have to spare. OUT_OF_MEMORY: it does not fit. */
CUresult graph_charge_admit(const struct graph_need *need, struct graph_charge *ret_charge);
/* The same for a node: its address is new, nothing spare is used for it. */
CUresult graph_charge_admit_node(const struct graph_need *need, struct graph_charge *ret_charge);
/* After it: the pools' growth is kept, the remainder given back; whoever refused memory is named. OUT_OF_MEMORY: it
 * grew past the limit. */
CUresult graph_charge_settle(const struct graph_need *need, struct graph_charge *charge,
                             CUresult result);
/* The same for work that cannot be called back: the driver's answer stands. */
void graph_charge_settle_launch(const struct graph_need *need, struct graph_charge *charge,
                                CUresult result);

/* The instance was made (launched): what it needs (has). */
void graph_charge_instance(CUgraphExec instance, const struct graph_need *need);
void graph_charge_launched(CUgraphExec instance);
void graph_charge_instance_gone(CUgraphExec instance);

/* Something was given back: the pools are queried again. True: they have shrunk. */
bool graph_charge_refresh(void);
/* What the device's pool of graph memory holds now, as the driver says. */
uint64_t graph_charge_reserved(int ordinal);
