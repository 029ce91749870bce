/* SPDX-License-Identifier: Apache-2.0 */
/* The memory gate. */
#include "gate_memory.h"

#include "clock.h"
#include "limits.h"
#include "log.h"
#include "presence.h"
#include "refusal.h"

enum { HEADROOM_BYTES = 64 << 20 };

uint64_t gate_memory_granules(size_t bytes)
{
        uint64_t granule = LEDGER_GRANULE_BYTES;

        if (bytes > UINT64_MAX - granule)
                return UINT64_MAX;
        return (bytes + granule - 1) / granule * granule;
}

static bool (*gate_relieve)(void);
static _Atomic bool gate_has_relief;

void gate_memory_on_refusal(bool (*relieve)(void))
{
        gate_relieve = relieve;
}

void gate_memory_has_relief(void)
{
        atomic_store_explicit(&gate_has_relief, true, memory_order_relaxed);
}

static bool (*gate_compare)(unsigned device_index);

void gate_memory_compare_by(bool (*compare)(unsigned device_index))
{
        gate_compare = compare;
}

/* Now and then, with no call in flight. True: something was given back. */
static bool compare_if_due(unsigned device_index)
{
        return __builtin_expect(ledger_is_doubtful(), 0) && gate_compare &&
               gate_compare(device_index);
}

bool gate_memory_relieve(void)
{
        return atomic_load_explicit(&gate_has_relief, memory_order_relaxed) && gate_relieve &&
               gate_relieve();
}

/* After a wait: the limit may be lower by now. */
static int reserve_again(unsigned device_index, uint64_t bytes, uint64_t limit,
                         struct charge *ret_charge)
{
        const uint64_t physical = limits_physical_bytes(device_index);

        return ledger_reserve(device_index, bytes, limit < physical ? limit : physical, ret_charge);
}

int gate_memory_reserve(unsigned device_index, uint64_t bytes, uint64_t limit,
                        struct charge *ret_charge)
{
        int r = ledger_reserve(device_index, bytes, limit, ret_charge);

        if (r < 0 && ledger_reap_to_refuse())
                r = ledger_reserve(device_index, bytes, limit, ret_charge);
        if (r < 0 && gate_memory_relieve())
                r = ledger_reserve(device_index, bytes, limit, ret_charge);
        while (r < 0 && bytes <= limit && ledger_wait_driver())
                r = reserve_again(device_index, bytes, limit, ret_charge);
        while (r < 0 && bytes <= limit && ledger_wait_measured(device_index))
                r = reserve_again(device_index, bytes, limit, ret_charge);
        return r;
}

/* How much of the GPU an allocation that has another way may fill up. Code, contexts, pools and small
 * allocations have none: a little is left to them, or a program that takes all memory first could not
 * load the kernels to use it. */
static uint64_t limit_with_fallback(unsigned device_index, uint64_t bytes)
{
        struct limits_memory memory = limits_memory(device_index);
        uint64_t limit = memory.physical_bytes, headroom = limit / 16;

        if (bytes <= LEDGER_GRANULE_BYTES || !memory.virtual_bytes)
                return limit;
        headroom = gate_memory_granules(headroom < HEADROOM_BYTES ? headroom : HEADROOM_BYTES);
        return limit > headroom ? limit - headroom : 0;
}

static CUresult admit(int device_index, uint64_t context, uint64_t bytes, uint64_t limit,
                      struct charge *ret_charge)
{
        if (!limits_are_set() || !ledger_is_open())
                /* Not initialised, or forked: the driver refuses; refused ourselves: so do we. */
                return limits_are_refused() ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
        if (device_index < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;

        compare_if_due((unsigned)device_index);
        do {
                presence_enter();
                if (gate_memory_reserve((unsigned)device_index, bytes, limit, ret_charge) == 0) {
                        ret_charge->context = context;
                        return CUDA_SUCCESS;
                }
                presence_leave();
        } while (compare_if_due((unsigned)device_index));
        return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gate_memory_try(int device_index, uint64_t context, size_t bytes,
                         struct charge *ret_charge)
{
        uint64_t whole = gate_memory_granules(bytes);
        uint64_t limit = device_index < 0 ? 0 : limit_with_fallback((unsigned)device_index, whole);

        *ret_charge = (struct charge){ 0 };
        CUresult r = admit(device_index, context, whole, limit, ret_charge);
        ret_charge->has_fallback = true;
        return r;
}

CUresult gate_memory_refuse(int device_index, size_t bytes)
{
        const uint64_t limit = device_index < 0 ? 0 : limits_physical_bytes((unsigned)device_index);
        const uint64_t held = device_index < 0 ? 0 : ledger_used_bytes((unsigned)device_index);
        const uint64_t whole = gate_memory_granules(bytes);
        const bool is_within = device_index >= 0 && whole <= limit && held <= limit - whole;

        refusal_tell(device_index, bytes, is_within ? REFUSAL_DRIVER : REFUSAL_LIMIT);
        return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gate_memory_admit(int device_index, uint64_t context, size_t bytes,
                           struct charge *ret_charge)
{
        uint64_t limit = device_index < 0 ? 0 : limits_physical_bytes((unsigned)device_index);

        *ret_charge = (struct charge){ 0 };
        CUresult r = admit(device_index, context, gate_memory_granules(bytes), limit, ret_charge);
        return r == CUDA_ERROR_OUT_OF_MEMORY ? gate_memory_refuse(device_index, bytes) : r;
}

/* Not noted for want of memory: it stays charged until the process ends. */
static void settle_done(bool is_settled)
{
        presence_leave();
        if (!is_settled)
                log_warn("no memory to note an allocation; it stays charged");
}

void gate_memory_give_back(struct charge *charge, CUresult result)
{
        const int device_index = (int)charge->device_index;
        const uint64_t bytes = charge->bytes;
        /* A charge with a fallback is reported only when the fallback fails. */
        const bool is_told = charge->has_fallback || result != CUDA_ERROR_OUT_OF_MEMORY;

        ledger_give_back(charge);
        if (!is_told)
                refusal_tell(device_index, bytes, REFUSAL_DRIVER);
}

void gate_memory_settle_as(struct charge *charge, CUresult result, CUdeviceptr address,
                           enum holding_kind kind)
{
        bool is_settled = true;

        if (!charge->is_counted)
                return;
        if (result == CUDA_SUCCESS)
                is_settled = ledger_settle(charge, address, kind);
        else
                gate_memory_give_back(charge, result);
        settle_done(is_settled);
}

void gate_memory_settle(struct charge *charge, CUresult result, CUdeviceptr address)
{
        if (!charge->is_counted || result != CUDA_SUCCESS ||
            charge->bytes != LEDGER_GRANULE_BYTES) {
                gate_memory_settle_as(charge, result, address, HOLDING_DEVICE);
                return;
        }
        settle_done(ledger_settle_small(charge, address));
}

uint64_t gate_memory_total(int device_index, uint64_t real_bytes)
{
        if (!limits_are_set())
                return real_bytes;
        if (device_index < 0)
                return 0;
        struct limits_memory memory = limits_memory((unsigned)device_index);
        uint64_t on_device = memory.physical_bytes;
        /* The virtual part of the limit is not the GPU's to bound. */
        return (on_device < real_bytes ? on_device : real_bytes) + (memory.bytes - on_device);
}

uint64_t gate_memory_free(int device_index, uint64_t total_bytes)
{
        /* Without a device of the share there is nothing to be had. */
        if (device_index < 0 || !ledger_is_open())
                return 0;
        ledger_reap_every(10 * NS_PER_MS);
        uint64_t used = ledger_used_bytes((unsigned)device_index) +
                        ledger_virtual_bytes((unsigned)device_index);
        return used < total_bytes ? total_bytes - used : 0;
}
