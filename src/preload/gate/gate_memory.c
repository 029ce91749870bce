/* The memory gate. */
#include "gate_memory.h"

#include "limits.h"
#include "log.h"
#include "presence.h"

static uint64_t granules(size_t bytes)
{
        uint64_t granule = LEDGER_GRANULE_BYTES;

        if (bytes > UINT64_MAX - granule)
                return UINT64_MAX;
        return (bytes + granule - 1) / granule * granule;
}

static bool (*gate_relieve)(void);

void gate_memory_on_refusal(bool (*relieve)(void))
{
        gate_relieve = relieve;
}

/* A refusal counts nobody who has been dead for a millisecond, nor what another process has in hand
 * only while it measures. */
static int admit_patiently(unsigned account, uint64_t bytes, uint64_t limit, struct charge *charge)
{
        int r = ledger_reserve(account, bytes, limit, charge);

        if (r < 0 && ledger_reap())
                r = ledger_reserve(account, bytes, limit, charge);
        if (r < 0 && gate_relieve && gate_relieve())
                r = ledger_reserve(account, bytes, limit, charge);
        while (r < 0 && bytes <= limit && ledger_wait_measured(account))
                r = ledger_reserve(account, bytes, limit, charge);
        return r;
}

CUresult gate_memory_admit(int account, uint64_t context, size_t bytes, struct charge *ret_charge)
{
        *ret_charge = (struct charge){ 0 };
        if (!limits_are_set() || !ledger_is_open())
                return CUDA_SUCCESS; /* not initialised, or forked: the driver refuses */
        if (account < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;

        uint64_t limit = limits_bytes((unsigned)account);
        presence_enter();
        if (admit_patiently((unsigned)account, granules(bytes), limit, ret_charge) == 0) {
                ret_charge->context = context;
                return CUDA_SUCCESS;
        }
        presence_leave();
        log_info("%zu bytes refused on device %d: %llu of %llu are held", bytes, account,
                 (unsigned long long)ledger_used_bytes((unsigned)account),
                 (unsigned long long)limit);
        return CUDA_ERROR_OUT_OF_MEMORY;
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
        uint64_t limit = limits_bytes((unsigned)account);
        return limit < real_bytes ? limit : real_bytes;
}

uint64_t gate_memory_free(int account, uint64_t total_bytes)
{
        uint64_t used = account < 0 ? total_bytes : ledger_used_bytes((unsigned)account);

        return used < total_bytes ? total_bytes - used : 0;
}
