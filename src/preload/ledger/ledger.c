/* The ledger: the container's region and the table of this process's holdings. */
#include "ledger.h"

#include <errno.h>

#include "lock.h"

enum { BLOCK_SHIFT = 21 };
static_assert(1 << BLOCK_SHIFT == LEDGER_GRANULE_BYTES, "a block is a granule");

static struct region ledger;

int ledger_open(const char *path, unsigned device_count, struct err *e)
{
        int r = 0;

        if (!ledger.file)
                r = region_open(path, device_count, &ledger, e);
        if (r < 0)
                return r;
        /* A forked child comes here with its parent's number. */
        ledger.slot = 0;
        r = region_join(&ledger);
        if (r == -EUSERS) {
                region_reap(&ledger);
                r = region_join(&ledger);
        }
        return r < 0 ? err_set(e, r, "account '%s' has no place for another process", path) : 0;
}

bool ledger_is_open(void)
{
        return ledger.slot != 0;
}

struct region *ledger_region(void)
{
        return &ledger;
}

int ledger_reserve(unsigned account, uint64_t bytes, uint64_t limit_bytes, struct charge *ret_charge)
{
        int r = region_charge(&ledger, account, bytes, limit_bytes);

        if (r == 0)
                *ret_charge = (struct charge){ .account = account, .bytes = bytes, .is_counted = true };
        return r;
}

void ledger_give_back(struct charge *charge)
{
        if (charge->is_counted)
                region_refund(&ledger, charge->account, charge->bytes);
        *charge = (struct charge){ 0 };
}

void ledger_adjust(struct charge *charge, uint64_t bytes)
{
        if (!charge->is_counted || bytes == charge->bytes)
                return;
        if (bytes < charge->bytes)
                region_refund(&ledger, charge->account, charge->bytes - bytes);
        else            /* the driver has taken it: it counts, limit or not */
                region_charge(&ledger, charge->account, bytes - charge->bytes, UINT64_MAX);
        charge->bytes = bytes;
}

bool ledger_settle(struct charge *charge, uint64_t key, enum holding_kind kind)
{
        struct holding holding = {
                .key = key,
                .bytes = charge->is_counted ? charge->bytes : 0,
                .count = 1,
                .device = (uint16_t)charge->account,
                .kind = (uint16_t)kind,
        };

        return holding_add(&holding);
}

/* Blocks are keyed by address | 1: no allocation has such an address. */
static uint64_t block_key(uint64_t address)
{
        return (address >> BLOCK_SHIFT << BLOCK_SHIFT) | 1;
}

/* Guards the step between a block's count and its being there. */
static struct lock *block_lock(void)
{
        static struct lock lock;

        return &lock;
}

bool ledger_settle_small(struct charge *charge, uint64_t address)
{
        struct charge nothing = { .account = charge->account, .is_counted = charge->is_counted };
        bool is_settled = true;

        if (!ledger_settle(&nothing, address, HOLDING_SMALL))
                return false;
        lock_take(block_lock());
        bool is_known = holding_count(block_key(address), 1) > 0;
        if (!is_known)
                is_settled = ledger_settle(charge, block_key(address), HOLDING_BLOCK);
        lock_give(block_lock());
        if (is_known)
                ledger_give_back(charge);
        return is_settled;
}

static void block_release(uint64_t address)
{
        struct holding block;

        lock_take(block_lock());
        bool is_last = holding_find(block_key(address), &block)
                       && holding_count(block_key(address), -1) == 0;
        lock_give(block_lock());
        if (is_last && block.bytes)
                region_refund(&ledger, block.device, block.bytes);
}

bool ledger_release(uint64_t key)
{
        struct holding holding;

        if (!holding_take(key, &holding))
                return false;
        if (holding.kind == HOLDING_SMALL)
                block_release(key);
        else if (holding.bytes)
                region_refund(&ledger, holding.device, holding.bytes);
        return true;
}

uint64_t ledger_used_bytes(unsigned account)
{
        return region_used_bytes(&ledger, account);
}
