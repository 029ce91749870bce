/* SPDX-License-Identifier: Apache-2.0 */
/* holding_table: 64 parts, each an open-addressing table with its own lock. Memory comes from mmap:
 * the program's allocator is not ours to enter while it may be calling us. */
#include "holding_table.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "brief_lock.h"

enum { PARTS = 64, FIRST_ROWS = 128 };

struct part {
        _Alignas(64) struct brief_lock lock;
        struct holding *rows;
        uint64_t capacity; /* a power of two, or 0 */
        uint64_t used;
};
static struct part holding_parts[PARTS];

static uint64_t key_hash(uint64_t key)
{
        key ^= key >> 33;
        key *= UINT64_C(0xff51afd7ed558ccd);
        return key ^ key >> 29;
}

/* A block and all that lies in it are in one part, so that both are noted under one lock. */
static struct part *part_of(uint64_t key)
{
        return &holding_parts[key_hash(key >> HOLDING_BLOCK_SHIFT) >> 58];
}

/* The key's row, or the empty row where it would go. */
static struct holding *part_row(const struct part *part, uint64_t key, uint64_t hash)
{
        uint64_t i = hash & (part->capacity - 1);

        while (part->rows[i].key && part->rows[i].key != key)
                i = (i + 1) & (part->capacity - 1);
        return &part->rows[i];
}

static bool part_grow(struct part *part)
{
        struct part grown = { .capacity = part->capacity ? part->capacity * 2 : FIRST_ROWS };
        size_t bytes = grown.capacity * sizeof *grown.rows;

        grown.rows = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (grown.rows == MAP_FAILED)
                return false;
        for (uint64_t i = 0; i < part->capacity; i++) {
                const struct holding *old = &part->rows[i];
                if (old->key)
                        *part_row(&grown, old->key, key_hash(old->key)) = *old;
        }
        if (part->rows)
                munmap(part->rows, part->capacity * sizeof *part->rows);
        part->rows = grown.rows;
        part->capacity = grown.capacity;
        return true;
}

/* Empties a row and moves later ones up, so that no search ends early. */
static void part_remove(struct part *part, struct holding *row)
{
        uint64_t mask = part->capacity - 1, hole = (uint64_t)(row - part->rows), i = hole;

        part->used--;
        for (;;) {
                i = (i + 1) & mask;
                if (!part->rows[i].key)
                        break;
                uint64_t home = key_hash(part->rows[i].key) & mask;
                if (((i - home) & mask) < ((i - hole) & mask))
                        continue;
                part->rows[hole] = part->rows[i];
                hole = i;
        }
        part->rows[hole] = (struct holding){ 0 };
}

static bool part_has_capacity(struct part *part, uint64_t count)
{
        return (part->used + count) * 4 <= part->capacity * 3 || part_grow(part);
}

static void part_put(struct part *part, const struct holding *holding)
{
        struct holding *row = part_row(part, holding->key, key_hash(holding->key));

        part->used += !row->key;
        *row = *holding;
}

bool holding_add(const struct holding *holding)
{
        struct part *part = part_of(holding->key);

        brief_lock_take(&part->lock);
        bool is_added = part_has_capacity(part, 1);
        if (is_added)
                part_put(part, holding);
        brief_lock_give(&part->lock);
        return is_added;
}

/* Blocks are keyed by address | 1: no allocation has such an address. */
static uint64_t block_key(uint64_t address)
{
        return (address >> HOLDING_BLOCK_SHIFT << HOLDING_BLOCK_SHIFT) | 1;
}

/* One less in its block; the last takes the block along. */
static void part_leave_block(struct part *part, struct holding *taken)
{
        uint64_t key = block_key(taken->key);
        struct holding *block = part_row(part, key, key_hash(key));

        if (!block->key || --block->count > 0)
                return;
        taken->bytes = block->bytes;
        part_remove(part, block);
}

static void part_take(struct part *part, struct holding *row, struct holding *ret_holding)
{
        *ret_holding = *row;
        part_remove(part, row);
        if (ret_holding->kind == HOLDING_SMALL)
                part_leave_block(part, ret_holding);
}

static bool holding_get(uint64_t key, struct holding *ret_holding, bool is_taken)
{
        uint64_t hash = key_hash(key);
        struct part *part = part_of(key);
        bool is_found = false;

        brief_lock_take(&part->lock);
        if (part->capacity) {
                struct holding *row = part_row(part, key, hash);
                is_found = row->key == key && key;
                if (is_found && is_taken)
                        part_take(part, row, ret_holding);
                else if (is_found)
                        *ret_holding = *row;
        }
        brief_lock_give(&part->lock);
        return is_found;
}

bool holding_take(uint64_t key, struct holding *ret_holding)
{
        return holding_get(key, ret_holding, true);
}

bool holding_find(uint64_t key, struct holding *ret_holding)
{
        return holding_get(key, ret_holding, false);
}

bool holding_add_small(const struct holding *holding, uint64_t block_bytes, bool *ret_is_known)
{
        struct part *part = part_of(holding->key);
        struct holding block = { .key = block_key(holding->key),
                                 .bytes = block_bytes,
                                 .count = 1,
                                 .device = holding->device,
                                 .kind = HOLDING_BLOCK };

        brief_lock_take(&part->lock);
        bool is_added = part_has_capacity(part, 2);
        if (is_added) {
                struct holding *row = part_row(part, block.key, key_hash(block.key));
                *ret_is_known = row->key != 0;
                if (row->key)
                        row->count++;
                else
                        part_put(part, &block);
                part_put(part, holding);
        }
        brief_lock_give(&part->lock);
        return is_added;
}

int64_t holding_count(uint64_t key, int change)
{
        uint64_t hash = key_hash(key);
        struct part *part = part_of(key);
        int64_t count = -1;

        brief_lock_take(&part->lock);
        if (part->capacity) {
                struct holding *row = part_row(part, key, hash);
                if (row->key == key && key) {
                        count = (int64_t)row->count + change;
                        row->count = (uint32_t)count;
                        if (count == 0)
                                part_remove(part, row);
                }
        }
        brief_lock_give(&part->lock);
        return count;
}

void holding_set_number(uint64_t key, uint64_t number)
{
        struct part *part = part_of(key);

        brief_lock_take(&part->lock);
        if (part->capacity) {
                struct holding *row = part_row(part, key, key_hash(key));
                if (row->key == key && key)
                        row->number = number;
        }
        brief_lock_give(&part->lock);
}

static bool part_take_of(struct part *part, uint64_t context, struct holding *ret_holding)
{
        bool is_found = false;

        brief_lock_take(&part->lock);
        for (uint64_t i = 0; i < part->capacity && !is_found; i++) {
                struct holding *row = &part->rows[i];
                is_found = row->key && row->context == context;
                if (is_found)
                        part_take(part, row, ret_holding);
        }
        brief_lock_give(&part->lock);
        return is_found;
}

bool holding_take_of(uint64_t context, struct holding *ret_holding)
{
        for (unsigned p = 0; p < PARTS; p++)
                if (part_take_of(&holding_parts[p], context, ret_holding))
                        return true;
        return false;
}

static unsigned part_list(struct part *part, enum holding_kind kind, unsigned device,
                          struct holding *ret_holdings, unsigned most)
{
        unsigned count = 0;

        brief_lock_take(&part->lock);
        for (uint64_t i = 0; i < part->capacity && count < most; i++) {
                const struct holding *row = &part->rows[i];
                if (row->key && row->kind == kind && row->device == device)
                        ret_holdings[count++] = *row;
        }
        brief_lock_give(&part->lock);
        return count;
}

unsigned holding_list(enum holding_kind kind, unsigned device, struct holding *ret_holdings,
                      unsigned most)
{
        unsigned count = 0;

        for (unsigned p = 0; p < PARTS; p++)
                count += part_list(&holding_parts[p], kind, device, ret_holdings + count,
                                   most - count);
        return count;
}

void holding_clear(void)
{
        for (unsigned p = 0; p < PARTS; p++) {
                struct part *part = &holding_parts[p];
                if (part->rows)
                        munmap(part->rows, part->capacity * sizeof *part->rows);
                *part = (struct part){ 0 };
        }
}
