/* SPDX-License-Identifier: Apache-2.0 */
/* graph_charge: what each device's pool of graph memory is charged with, and what instances need. */
#include "graph_charge.h"

#include <sys/mman.h>

#include "devices.h"
#include "limits.h"
#include "lock.h"
#include "presence.h"
#include "refusal.h"

_Atomic bool graph_charge_used;

static struct {
        struct lock lock;
        uint64_t bytes[GRAPH_DEVICES]; /* charged */
        _Atomic uint64_t launched; /* the instance that last got all it needs, and has it still */
} pools;

static uint64_t pool_figure(int ordinal, CUgraphMem_attribute attribute)
{
        cuuint64_t bytes = 0;

        if (real_cuda.cuDeviceGetGraphMemAttribute)
                real_cuda.cuDeviceGetGraphMemAttribute(ordinal, attribute, &bytes);
        return bytes;
}

static uint64_t pool_spare(int ordinal)
{
        uint64_t reserved = pool_figure(ordinal, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
        uint64_t used = pool_figure(ordinal, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);

        return reserved > used ? reserved - used : 0;
}

void graph_need_one(struct graph_need *ret_need, int ordinal, uint64_t bytes)
{
        *ret_need = (struct graph_need){ 0 };
        if (ordinal < 0 || ordinal >= GRAPH_DEVICES)
                return; /* nonsense: the driver says so */
        ret_need->devices = UINT64_C(1) << ordinal;
        ret_need->bytes[ordinal] = bytes;
}

static void need_add(struct graph_need *need, CUgraphNode node)
{
        CUDA_MEM_ALLOC_NODE_PARAMS params;

        if (real_cuda.cuGraphMemAllocNodeGetParams(node, &params) != CUDA_SUCCESS)
                return;
        int ordinal = params.poolProps.location.id;
        if (ordinal < 0 || ordinal >= GRAPH_DEVICES)
                return;
        need->devices |= UINT64_C(1) << ordinal;
        need->bytes[ordinal] += (params.bytesize + LEDGER_GRANULE_BYTES - 1) /
                                LEDGER_GRANULE_BYTES * LEDGER_GRANULE_BYTES;
}

static void need_walk(struct graph_need *need, CUgraph graph)
{
        size_t count = 0;

        if (real_cuda.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS || !count)
                return;
        size_t bytes = count * sizeof(CUgraphNode);
        CUgraphNode *nodes =
                mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (nodes == MAP_FAILED)
                return;
        if (real_cuda.cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS)
                count = 0;
        for (size_t i = 0; i < count; i++) {
                CUgraphNodeType type;
                CUgraph child;
                if (real_cuda.cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS)
                        continue;
                if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
                        need_add(need, nodes[i]);
                else if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
                         real_cuda.cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS)
                        need_walk(need, child);
        }
        munmap(nodes, bytes);
}

void graph_need_of(struct graph_need *ret_need, CUgraph graph)
{
        *ret_need = (struct graph_need){ 0 };
        if (atomic_load_explicit(&graph_charge_used, memory_order_relaxed))
                need_walk(ret_need, graph);
}

static uint64_t instance_key(CUgraphExec instance, int ordinal)
{
        return (uint64_t)(uintptr_t)instance | (uint64_t)(ordinal + 1) << 49;
}

void graph_need_of_instance(struct graph_need *ret_need, CUgraphExec instance)
{
        struct holding note;

        ret_need->devices = 0;
        if (!atomic_load_explicit(&graph_charge_used, memory_order_relaxed) ||
            !holding_find(instance_key(instance, -1), &note))
                return;
        *ret_need = (struct graph_need){ 0 };
        /* Launched again, with nothing in between that could have taken its memory. */
        if (atomic_load(&pools.launched) == (uint64_t)(uintptr_t)instance)
                return;
        ret_need->devices = note.number;
        for (int i = 0; i < GRAPH_DEVICES; i++)
                if (note.number >> i & 1 && holding_find(instance_key(instance, i), &note))
                        ret_need->bytes[i] = note.number;
}

static void charge_cancel(struct graph_charge *charge)
{
        for (int i = 0; i < GRAPH_DEVICES; i++)
                if (charge->devices >> i & 1)
                        ledger_give_back(&charge->charges[i]);
        charge->devices = 0;
}

static CUresult admit_one(int ordinal, uint64_t bytes, struct charge *ret_charge)
{
        int device_index = devices_index(ordinal);

        *ret_charge = (struct charge){ 0 };
        if (device_index >= 0 &&
            gate_memory_reserve((unsigned)device_index, gate_memory_granules(bytes),
                                limits_physical_bytes((unsigned)device_index), ret_charge) == 0)
                return CUDA_SUCCESS;
        return gate_memory_refuse(device_index, bytes);
}

/* The thread is inside (presence.h) from here to the settlement: once, whatever the devices. */
static CUresult admit(const struct graph_need *need, bool is_spare_used,
                      struct graph_charge *ret_charge)
{
        ret_charge->devices = 0;
        if (!need->devices || !limits_are_set() || !ledger_is_open())
                return CUDA_SUCCESS;
        atomic_store(&graph_charge_used, true);
        gate_memory_has_relief();
        presence_enter();
        for (int i = 0; i < GRAPH_DEVICES; i++) {
                if (!(need->devices >> i & 1))
                        continue;
                uint64_t spare = is_spare_used ? pool_spare(i) : 0;
                uint64_t bytes = need->bytes[i] > spare ? need->bytes[i] - spare : 0;
                CUresult r = admit_one(i, bytes, &ret_charge->charges[i]);
                if (r != CUDA_SUCCESS) {
                        charge_cancel(ret_charge);
                        presence_leave();
                        return r;
                }
                ret_charge->devices |= UINT64_C(1) << i;
        }
        return CUDA_SUCCESS;
}

CUresult graph_charge_admit(const struct graph_need *need, struct graph_charge *ret_charge)
{
        return admit(need, true, ret_charge);
}

CUresult graph_charge_admit_node(const struct graph_need *need, struct graph_charge *ret_charge)
{
        atomic_store(&pools.launched, 0);
        return admit(need, false, ret_charge);
}

/* With the lock held. True: it has shrunk. */
static bool pool_shrink(int ordinal, uint64_t now)
{
        if (now >= pools.bytes[ordinal])
                return false;
        region_refund(ledger_region(), (unsigned)devices_index(ordinal), REGION_OTHER,
                      pools.bytes[ordinal] - now);
        pools.bytes[ordinal] = now;
        return true;
}

/* Which device had no memory is the driver's secret: the one that was to give most is named. */
static void refusal_name(const struct graph_need *need, enum refusal_by by)
{
        int most = -1;

        for (int i = 0; i < GRAPH_DEVICES; i++)
                if (need->devices >> i & 1 && (most < 0 || need->bytes[i] > need->bytes[most]))
                        most = i;
        if (most >= 0 && limits_are_set() && ledger_is_open())
                refusal_tell(devices_index(most), need->bytes[most], by);
}

/* True: the pools have grown past the limit. */
static bool settle(struct graph_charge *charge)
{
        bool is_over = false;

        if (!charge->devices)
                return false;
        lock_take(&pools.lock);
        for (int i = 0; i < GRAPH_DEVICES; i++) {
                if (!(charge->devices >> i & 1))
                        continue;
                uint64_t now = pool_figure(i, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
                uint64_t grown = now > pools.bytes[i] ? now - pools.bytes[i] : 0;
                is_over |= !ledger_grow(&charge->charges[i], grown,
                                        limits_physical_bytes(charge->charges[i].device_index));
                ledger_rename(&charge->charges[i], REGION_OTHER);
                pools.bytes[i] += grown;
                pool_shrink(i, now);
        }
        lock_give(&pools.lock);
        presence_leave();
        return is_over;
}

CUresult graph_charge_settle(const struct graph_need *need, struct graph_charge *charge,
                             CUresult result)
{
        const bool is_over = settle(charge);

        if (result == CUDA_ERROR_OUT_OF_MEMORY)
                refusal_name(need, REFUSAL_DRIVER);
        if (result != CUDA_SUCCESS || !is_over)
                return result;
        refusal_name(need, REFUSAL_LIMIT);
        return CUDA_ERROR_OUT_OF_MEMORY;
}

void graph_charge_settle_launch(const struct graph_need *need, struct graph_charge *charge,
                                CUresult result)
{
        settle(charge);
        if (result == CUDA_ERROR_OUT_OF_MEMORY)
                refusal_name(need, REFUSAL_DRIVER);
}

static void note(uint64_t key, uint64_t number)
{
        struct holding holding = {
                .key = key, .count = 1, .kind = HOLDING_GRAPH, .number = number
        };

        holding_add(&holding);
}

void graph_charge_instance(CUgraphExec instance, const struct graph_need *need)
{
        if (!need->devices)
                return;
        note(instance_key(instance, -1), need->devices);
        for (int i = 0; i < GRAPH_DEVICES; i++)
                if (need->devices >> i & 1)
                        note(instance_key(instance, i), need->bytes[i]);
}

void graph_charge_launched(CUgraphExec instance)
{
        atomic_store(&pools.launched, (uint64_t)(uintptr_t)instance);
}

void graph_charge_instance_gone(CUgraphExec instance)
{
        struct holding marker, part;

        if (holding_take(instance_key(instance, -1), &marker))
                for (int i = 0; i < GRAPH_DEVICES; i++)
                        if (marker.number >> i & 1)
                                holding_take(instance_key(instance, i), &part);
        graph_charge_refresh();
}

uint64_t graph_charge_reserved(int ordinal)
{
        if (!atomic_load_explicit(&graph_charge_used, memory_order_relaxed))
                return 0;
        return pool_figure(ordinal, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
}

bool graph_charge_refresh(void)
{
        bool has_shrunk = false;

        if (!atomic_load_explicit(&graph_charge_used, memory_order_relaxed) || !ledger_is_open())
                return false;
        atomic_store(&pools.launched, 0);
        lock_take(&pools.lock);
        for (int i = 0; i < GRAPH_DEVICES; i++)
                if (pools.bytes[i])
                        has_shrunk |= pool_shrink(
                                i, pool_figure(i, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT));
        lock_give(&pools.lock);
        return has_shrunk;
}
