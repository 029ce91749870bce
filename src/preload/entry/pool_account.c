/* pool_account: a short list of pools; each is charged by the driver's figure of what it reserves. */
#include "pool_account.h"

#include "graph_account.h"
#include "lock.h"
#include "presence.h"
#include "real.h"

enum { POOLS = 256 };

struct row {
        CUmemoryPool pool;
        int account;                    /* or POOL_ON_HOST */
        uint64_t bytes;                 /* charged */
};

static struct {
        struct lock lock;
        struct row rows[POOLS];
        _Atomic unsigned count;
} pools;

static struct row *row_find(CUmemoryPool pool)
{
        for (unsigned i = 0; i < pools.count; i++)
                if (pools.rows[i].pool == pool)
                        return &pools.rows[i];
        return NULL;
}

static struct row *row_make(CUmemoryPool pool, int account)
{
        struct row *row = row_find(pool);

        if (!row)
                row = row_find(NULL);   /* a destroyed one's place */
        if (!row && pools.count < POOLS)
                row = &pools.rows[pools.count++];
        if (row && !row->pool)
                *row = (struct row){ .pool = pool, .account = account };
        return row;
}

void pool_account_new(CUmemoryPool pool, int account)
{
        lock_take(&pools.lock);
        row_make(pool, account);
        lock_give(&pools.lock);
}

int pool_account_of(CUmemoryPool pool, int otherwise)
{
        lock_take(&pools.lock);
        const struct row *row = row_find(pool);
        int account = row && row->pool ? row->account : otherwise;
        lock_give(&pools.lock);
        return account;
}

bool pool_account_is_host(CUmemoryPool pool)
{
        return pool_account_of(pool, 0) == POOL_ON_HOST;
}

static uint64_t pool_reserved(CUmemoryPool pool)
{
        cuuint64_t bytes = 0;

        real_cuda.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes);
        return bytes;
}

/* True: it has shrunk, and what it gave up counts no more. */
static bool row_shrink(struct row *row)
{
        uint64_t now = pool_reserved(row->pool);

        if (now >= row->bytes)
                return false;
        region_refund(ledger_region(), (unsigned)row->account, row->bytes - now);
        row->bytes = now;
        return true;
}

CUresult pool_account_grow(struct charge *charge, CUmemoryPool pool, CUdeviceptr address)
{
        struct holding note = { .key = address, .count = 1, .kind = HOLDING_POOL,
                                .device = (uint16_t)charge->account,
                                .number = (uint64_t)(uintptr_t)pool };
        uint64_t had = charge->bytes, grown = 0;

        lock_take(&pools.lock);
        struct row *row = row_make(pool, (int)charge->account);
        if (row) {
                uint64_t now = pool_reserved(pool);
                grown = now > row->bytes ? now - row->bytes : 0;
                ledger_adjust(charge, grown);
                row->bytes += grown;
        }
        lock_give(&pools.lock);
        holding_add(&note);
        return row && grown > had ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

void pool_account_refresh(CUmemoryPool pool)
{
        lock_take(&pools.lock);
        struct row *row = row_find(pool);
        if (row && row->pool)
                row_shrink(row);
        lock_give(&pools.lock);
}

bool pool_account_freed(CUdeviceptr address)
{
        struct holding note;

        if (!holding_find(address, &note) || note.kind != HOLDING_POOL)
                return false;
        holding_take(address, &note);
        pool_account_refresh((CUmemoryPool)(uintptr_t)note.number);
        return true;
}

void pool_account_free_begin(CUdeviceptr address, struct holding *ret_note)
{
        ret_note->key = 0;
        presence_enter();
        holding_take(address, ret_note);
}

CUresult pool_account_free_end(CUresult result, const struct holding *note)
{
        if (note->key && result != CUDA_SUCCESS)
                holding_add(note);
        else if (note->key && note->kind == HOLDING_POOL)
                pool_account_refresh((CUmemoryPool)(uintptr_t)note->number);
        else if (note->key)
                ledger_release_taken(note);
        else if (result == CUDA_SUCCESS)
                graph_account_refresh();        /* not noted: a graph's */
        presence_leave();
        return result;
}

bool pool_account_refresh_all(void)
{
        bool has_shrunk = false;

        if (!atomic_load_explicit(&pools.count, memory_order_relaxed))
                return false;           /* no pool was ever used: nothing to ask the driver */
        lock_take(&pools.lock);
        for (unsigned i = 0; i < pools.count; i++)
                if (pools.rows[i].pool && pools.rows[i].bytes)
                        has_shrunk |= row_shrink(&pools.rows[i]);
        lock_give(&pools.lock);
        return has_shrunk;
}

void pool_account_destroy(CUmemoryPool pool)
{
        lock_take(&pools.lock);
        struct row *row = row_find(pool);
        if (row && row->pool) {
                region_refund(ledger_region(), (unsigned)row->account, row->bytes);
                *row = (struct row){ 0 };
        }
        lock_give(&pools.lock);
}
