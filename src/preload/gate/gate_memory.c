/* The memory gate. */
#include "gate_memory.h"

#include "clock.h"
#include "limits.h"
#include "log.h"
#include "presence.h"

enum { REST_BYTES = 64 << 20 };

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

static bool (*gate_compare)(unsigned account);

void gate_memory_compare_by(bool (*compare)(unsigned account))
{
        gate_compare = compare;
}

/* Now and then, with no call in flight. True: something was given back. */
static bool compare_if_due(unsigned account)
{
        return __builtin_expect(ledger_is_doubtful(), 0) && gate_compare && gate_compare(account);
}

bool gate_memory_relieve(void)
{
        return atomic_load_explicit(&gate_has_relief, memory_order_relaxed) && gate_relieve &&
               gate_relieve();
}

int gate_memory_reserve(unsigned account, uint64_t bytes, uint64_t limit, struct charge *ret_charge)
{
        int r = ledger_reserve(account, bytes, limit, ret_charge);

        if (r < 0 && ledger_reap(NS_PER_MS))
                r = ledger_reserve(account, bytes, limit, ret_charge);
        if (r < 0 && gate_memory_relieve())
                r = ledger_reserve(account, bytes, limit, ret_charge);
        while (r < 0 && bytes <= limit && ledger_wait_measured(account))
                r = ledger_reserve(account, bytes, limit, ret_charge);
        return r;
}

/* How much of the card an allocation that has another way may fill up. Code, contexts, pools and small
 * allocations have none: a little is left to them, or a program that takes all memory first could not
 * load the kernels to use it. */
static uint64_t limit_with_fallback(unsigned account, uint64_t bytes)
{
        struct limits_memory memory = limits_memory(account);
        uint64_t limit = memory.physical_bytes, rest = limit / 16;

        if (bytes <= LEDGER_GRANULE_BYTES || !memory.virtual_bytes)
                return limit;
        rest = gate_memory_granules(rest < REST_BYTES ? rest : REST_BYTES);
        return limit > rest ? limit - rest : 0;
}

static CUresult admit(int account, uint64_t context, uint64_t bytes, uint64_t limit,
                      struct charge *ret_charge)
{
        if (!limits_are_set() || !ledger_is_open())
                return CUDA_SUCCESS; /* not initialised, or forked: the driver refuses */
        if (account < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;

        compare_if_due((unsigned)account);
        do {
                presence_enter();
                if (gate_memory_reserve((unsigned)account, bytes, limit, ret_charge) == 0) {
                        ret_charge->context = context;
                        return CUDA_SUCCESS;
                }
                presence_leave();
        } while (compare_if_due((unsigned)account));
        return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gate_memory_try(int account, uint64_t context, size_t bytes, struct charge *ret_charge)
{
        uint64_t whole = gate_memory_granules(bytes);
        uint64_t limit = account < 0 ? 0 : limit_with_fallback((unsigned)account, whole);

        *ret_charge = (struct charge){ 0 };
        return admit(account, context, whole, limit, ret_charge);
}

CUresult gate_memory_refuse(int account, size_t bytes)
{
        if (account >= 0 && log_shows(LOG_LEVEL_INFO))
                log_info("%zu bytes refused on device %d: %llu of %llu are held, and %llu of %llu "
                         "of virtual memory",
                         bytes, account, (unsigned long long)ledger_used_bytes((unsigned)account),
                         (unsigned long long)limits_physical_bytes((unsigned)account),
                         (unsigned long long)ledger_virtual_bytes((unsigned)account),
                         (unsigned long long)limits_virtual_bytes((unsigned)account));
        return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gate_memory_admit(int account, uint64_t context, size_t bytes, struct charge *ret_charge)
{
        uint64_t limit = account < 0 ? 0 : limits_physical_bytes((unsigned)account);

        *ret_charge = (struct charge){ 0 };
        CUresult r = admit(account, context, gate_memory_granules(bytes), limit, ret_charge);
        return r == CUDA_ERROR_OUT_OF_MEMORY ? gate_memory_refuse(account, bytes) : r;
}

/* Not noted for want of memory: it stays charged until the process ends. */
static void settle_done(bool is_settled)
{
        presence_leave();
        if (!is_settled)
                log_warn("no memory to note an allocation; it stays charged");
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
                ledger_give_back(charge);
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

uint64_t gate_memory_total(int account, uint64_t real_bytes)
{
        if (!limits_are_set())
                return real_bytes;
        if (account < 0)
                return 0;
        struct limits_memory memory = limits_memory((unsigned)account);
        uint64_t on_card = memory.physical_bytes;
        /* The virtual part of the limit is not the card's to bound. */
        return (on_card < real_bytes ? on_card : real_bytes) + (memory.bytes - on_card);
}

uint64_t gate_memory_free(int account, uint64_t total_bytes)
{
        /* Without an account there is nothing to be had. */
        if (account < 0 || !ledger_is_open())
                return 0;
        /* Who only looks sees a dead process a little longer than who would be refused. */
        ledger_reap(10 * NS_PER_MS);
        uint64_t used =
                ledger_used_bytes((unsigned)account) + ledger_virtual_bytes((unsigned)account);
        return used < total_bytes ? total_bytes - used : 0;
}
