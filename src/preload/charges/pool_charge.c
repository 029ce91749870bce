/* SPDX-License-Identifier: Apache-2.0 */
/* pool_charge: a short list of pools; each is charged by the driver's figure of what it reserves. */
#include "pool_charge.h"

#include "devices.h"
#include "graph_charge.h"
#include "limits.h"
#include "lock.h"
#include "presence.h"
#include "real.h"

enum { POOLS = 256, FREED = 8, FREED_UNIT_BYTES = 512 };

/* What one stream has freed last and nobody has got since: the driver gives it out again in that stream
 * without taking more of the GPU, even before the stream has come past. What is not certain any more is
 * not in it. */
struct freed {
        CUstream stream;
        unsigned count;
        uint64_t bytes[FREED];
};

struct row {
        CUmemoryPool pool;
        int ordinal; /* CUDA's number of its device, or POOL_ON_HOST */
        int device_index;
        uint64_t bytes; /* charged */
        unsigned live;  /* allocations */
        bool is_gone;   /* destroyed: lives on until the last of them is freed */
        struct freed freed;
};

static unsigned freed_largest(const struct freed *freed)
{
        unsigned largest = 0;

        for (unsigned i = 1; i < freed->count; i++)
                if (freed->bytes[i] > freed->bytes[largest])
                        largest = i;
        return largest;
}

static void freed_add(struct freed *freed, CUstream stream, uint64_t bytes)
{
        if (freed->stream != stream || freed->count == FREED)
                freed->count = 0;
        freed->stream = stream;
        freed->bytes[freed->count++] = bytes;
}

/* Somebody got one of them, or a part of one: none that is as large may be left. */
static void freed_drop(struct freed *freed)
{
        unsigned largest = freed_largest(freed);

        if (freed->count)
                freed->bytes[largest] = freed->bytes[--freed->count];
}

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

static struct row *row_make(CUmemoryPool pool, int ordinal)
{
        struct row *row = row_find(pool);

        if (!row)
                row = row_find(NULL); /* a destroyed one's row */
        if (!row && pools.count < POOLS) {
                row = &pools.rows[pools.count++];
                gate_memory_has_relief();
        }
        if (row && !row->pool)
                *row = (struct row){ .pool = pool,
                                     .ordinal = ordinal,
                                     .device_index = devices_index(ordinal) };
        return row;
}

void pool_charge_new(CUmemoryPool pool, int ordinal)
{
        lock_take(&pools.lock);
        row_make(pool, ordinal);
        lock_give(&pools.lock);
}

/* A device's own pool, which nobody made. */
static int ordinal_of_default(CUmemoryPool pool)
{
        CUmemoryPool own;

        for (int i = 0; i < devices_count(); i++)
                if (real_cuda.cuDeviceGetDefaultMemPool(&own, i) == CUDA_SUCCESS && own == pool)
                        return i;
        return POOL_UNKNOWN;
}

int pool_charge_ordinal(CUmemoryPool pool)
{
        lock_take(&pools.lock);
        const struct row *row = pool ? row_find(pool) : NULL;
        int ordinal = row ? row->ordinal : POOL_UNKNOWN;
        lock_give(&pools.lock);
        if (ordinal != POOL_UNKNOWN)
                return ordinal;
        ordinal = ordinal_of_default(pool);
        if (ordinal != POOL_UNKNOWN)
                pool_charge_new(pool, ordinal);
        return ordinal;
}

static uint64_t pool_figure(CUmemoryPool pool, CUmemPool_attribute attribute)
{
        cuuint64_t bytes = 0;

        real_cuda.cuMemPoolGetAttribute(pool, attribute, &bytes);
        return bytes;
}

static uint64_t pool_reserved(CUmemoryPool pool)
{
        return pool_figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

/* True: it has shrunk, and what it gave up counts no more. */
static bool row_shrink(struct row *row)
{
        uint64_t now = row->is_gone ? row->bytes : pool_reserved(row->pool);

        if (now >= row->bytes)
                return false;
        region_refund(ledger_region(), (unsigned)row->device_index, REGION_OTHER, row->bytes - now);
        row->bytes = now;
        row->freed.count = 0;
        return true;
}

CUresult pool_charge_grow(struct charge *charge, CUmemoryPool pool, int ordinal,
                          CUdeviceptr address, size_t bytes)
{
        struct holding note = { .key = address,
                                .count = (uint32_t)(bytes / FREED_UNIT_BYTES),
                                .kind = HOLDING_POOL,
                                .device = (uint16_t)charge->device_index,
                                .number = (uint64_t)(uintptr_t)pool };
        bool is_within = true;

        lock_take(&pools.lock);
        struct row *row = row_make(pool, ordinal);
        if (row) {
                uint64_t now = pool_reserved(pool);
                uint64_t grown = now > row->bytes ? now - row->bytes : 0;
                is_within = ledger_grow(charge, grown, limits_physical_bytes(charge->device_index));
                ledger_rename(charge, REGION_OTHER);
                row->bytes += grown;
                row->live++;
                if (grown < bytes)
                        freed_drop(&row->freed);
        }
        lock_give(&pools.lock);
        holding_add(&note);
        return is_within ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool pool_charge_has_freed(CUmemoryPool pool, CUstream stream, size_t bytes)
{
        bool has_freed = false;

        lock_take(&pools.lock);
        struct row *row = pool ? row_find(pool) : NULL;
        if (row && !row_shrink(row)) {
                const struct freed *freed = &row->freed;
                has_freed = freed->count && freed->stream == stream &&
                            freed->bytes[freed_largest(freed)] >= bytes;
        }
        lock_give(&pools.lock);
        return has_freed;
}

void pool_charge_refresh(CUmemoryPool pool)
{
        lock_take(&pools.lock);
        struct row *row = row_find(pool);
        if (row && row->pool)
                row_shrink(row);
        lock_give(&pools.lock);
}

static void row_clear(struct row *row)
{
        region_refund(ledger_region(), (unsigned)row->device_index, REGION_OTHER, row->bytes);
        *row = (struct row){ 0 };
}

/* One allocation less; `stream`: in whose order, if in one's. */
static void row_freed(const struct holding *note, const CUstream *stream)
{
        lock_take(&pools.lock);
        struct row *row = row_find((CUmemoryPool)(uintptr_t)note->number);
        if (row && row->pool) {
                row->live -= row->live > 0;
                if (row->is_gone && !row->live)
                        row_clear(row);
                else if (!row_shrink(row) && stream)
                        freed_add(&row->freed, *stream, note->count * (uint64_t)FREED_UNIT_BYTES);
        }
        lock_give(&pools.lock);
}

bool pool_charge_freed(CUdeviceptr address)
{
        struct holding note;

        if (!holding_find(address, &note) || note.kind != HOLDING_POOL)
                return false;
        holding_take(address, &note);
        row_freed(&note, NULL);
        return true;
}

void pool_charge_free_begin(CUdeviceptr address, struct holding *ret_note)
{
        ret_note->key = 0;
        presence_enter();
        holding_take(address, ret_note);
}

CUresult pool_charge_free_end(CUresult result, const struct holding *note, const CUstream *stream)
{
        if (note->key && result != CUDA_SUCCESS)
                ledger_put_back(note);
        else if (note->key && note->kind == HOLDING_POOL)
                row_freed(note, stream);
        else if (note->key)
                ledger_release_taken(note);
        else if (result == CUDA_SUCCESS)
                graph_charge_refresh(); /* not noted: a graph's */
        presence_leave();
        return result;
}

static void row_trim(const struct row *row)
{
        if (!row->is_gone && pool_figure(row->pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) < row->bytes)
                real_cuda.cuMemPoolTrimTo(row->pool, 0);
}

static bool rows_shrink(bool is_trimmed)
{
        bool has_shrunk = false;

        if (!atomic_load_explicit(&pools.count, memory_order_relaxed))
                return false; /* no pool was ever used: nothing to ask the driver */
        lock_take(&pools.lock);
        for (unsigned i = 0; i < pools.count; i++) {
                if (!pools.rows[i].pool || !pools.rows[i].bytes)
                        continue;
                if (is_trimmed)
                        row_trim(&pools.rows[i]);
                has_shrunk |= row_shrink(&pools.rows[i]);
        }
        lock_give(&pools.lock);
        return has_shrunk;
}

bool pool_charge_refresh_all(void)
{
        return rows_shrink(false);
}

bool pool_charge_trim(void)
{
        return rows_shrink(true);
}

uint64_t pool_charge_reserved(int ordinal)
{
        uint64_t sum = 0;

        if (!atomic_load_explicit(&pools.count, memory_order_relaxed))
                return 0;
        lock_take(&pools.lock);
        for (unsigned i = 0; i < pools.count; i++) {
                const struct row *row = &pools.rows[i];
                if (row->pool && row->bytes && row->ordinal == ordinal)
                        sum += row->is_gone ? row->bytes : pool_reserved(row->pool);
        }
        lock_give(&pools.lock);
        return sum;
}

void pool_charge_destroy(CUmemoryPool pool)
{
        lock_take(&pools.lock);
        struct row *row = row_find(pool);
        if (row && row->pool && row->live)
                row->is_gone = true;
        else if (row && row->pool)
                row_clear(row);
        lock_give(&pools.lock);
}
