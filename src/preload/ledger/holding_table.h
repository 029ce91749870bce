/* SPDX-License-Identifier: Apache-2.0 */
/* holding_table: what this process holds, by address: found, added and removed in constant time
 * however many there are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { HOLDING_BLOCK_SHIFT = 21 }; /* blocks of 2 MiB */

enum holding_kind {
        HOLDING_DEVICE,  /* charged by itself */
        HOLDING_SMALL,   /* lies in a block that is charged; taken out with bytes: the block, too */
        HOLDING_BLOCK,   /* such a block; `count` of them lie in it */
        HOLDING_MANAGED, /* a fall-back into managed memory */
        HOLDING_CONTEXT,
        HOLDING_MODULE,
        HOLDING_POOL,
        HOLDING_ARRAY,
        HOLDING_HANDLE,
        HOLDING_GRAPH,
        HOLDING_IMPORTED, /* another process made it */
        HOLDING_EXPORTED, /* released, and still held by another process */
};

struct holding {
        uint64_t key;   /* address or handle; 0: an empty row */
        uint64_t bytes; /* charged */
        uint32_t count;
        uint16_t device;  /* device index */
        uint16_t kind;    /* enum holding_kind */
        uint64_t context; /* goes with it; 0: with none */
        uint64_t number;  /* for the kind's own use */
};

/* False: out of memory; nothing was added. A key that is there already is replaced. */
bool holding_add(const struct holding *holding);
/* False: no such key. Removes it and says what it was. */
bool holding_take(uint64_t key, struct holding *ret_holding);
bool holding_find(uint64_t key, struct holding *ret_holding);
/* Adds a HOLDING_SMALL: one more in its block if that is known, else the block, too, with this as its
 * first. One step, as is taking one out. False: out of memory; nothing was added. */
bool holding_add_small(const struct holding *holding, uint64_t block_bytes, bool *ret_is_known);
/* Changes the count of the holding; the new value. 0 and removed when it reaches 0. −1: no such key. */
int64_t holding_count(uint64_t key, int change);

/* Notes the number in the holding, if there is such a key. */
void holding_set_number(uint64_t key, uint64_t number);

/* Takes one holding of the context, if there is any. */
bool holding_take_of(uint64_t context, struct holding *ret_holding);
/* Copies holdings of this kind on this device, as many as fit; how many. */
unsigned holding_list(enum holding_kind kind, unsigned device, struct holding *ret_holdings,
                      unsigned most);
/* Forgets everything: a forked child holds nothing. */
void holding_clear(void);
