/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: what this container holds, device by device, and this process's part in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "holding_table.h"
#include "region.h"

enum { LEDGER_GRANULE_BYTES = 2 << 20 }; /* what the driver takes from a GPU at a time */

/* Bytes set aside before the driver is asked; settled or given back afterwards. */
struct charge {
        unsigned device_index;
        uint64_t bytes;
        uint64_t context;      /* the CUDA context it belongs to; 0: none */
        enum region_kind kind; /* device memory, until it is settled as something else */
        bool is_counted;       /* false: nothing was set aside */
        bool has_fallback;     /* its caller has another way: a refusal is not the end */
};

/* Opens the region and takes this process's slot in it. Once per process; again in a forked
 * child, which holds nothing of its parent's. */
int ledger_open(const char *path, unsigned device_count, struct err *e);
bool ledger_is_open(void);

/* Sets bytes aside if the container stays within `limit_bytes`. -ENOMEM; -EUCLEAN: the region has
 * lost its integrity (integrity.h). */
int ledger_reserve(unsigned device_index, uint64_t bytes, uint64_t limit_bytes,
                   struct charge *ret_charge);
void ledger_give_back(struct charge *charge);
/* The driver took less (or, measured, more) than was set aside. */
void ledger_adjust(struct charge *charge, uint64_t bytes);
/* The same where the driver takes more at a time than it was asked for: false, it went past the limit
 * (and counts all the same). */
bool ledger_grow(struct charge *charge, uint64_t bytes, uint64_t limit_bytes);

/* It is of this kind. */
void ledger_rename(struct charge *charge, enum region_kind kind);
/* Keeps the charge under a key (an address or a handle) until ledger_release(). False: no memory for
 * the note; the charge stays with the caller. */
bool ledger_settle(struct charge *charge, uint64_t key, enum holding_kind kind);
/* The same where something may be held under the key already: both together, from now on. The caller
 * is alone (presence_lock). */
bool ledger_settle_more(struct charge *charge, uint64_t key, enum holding_kind kind);
/* Gives back a part of what is held under the key. The caller is alone. */
void ledger_shrink(uint64_t key, uint64_t bytes);
/* Gives back what is held under the key; false: nothing is. */
bool ledger_release(uint64_t key);
/* The same for one that holding_take() has taken out. */
void ledger_release_taken(const struct holding *holding);
/* The driver did not free it after all. */
void ledger_put_back(const struct holding *taken);

/* Gives back all that is held in a context that is gone. */
void ledger_release_context(uint64_t context);

/* While the driver is asked for something whose size only it knows: waits until no other process of the
 * container does. What others learned meanwhile is known afterwards. */
void ledger_measure(unsigned device_index);
void ledger_measured(unsigned device_index);
/* Between the two: sets all that is left aside, at least `least_bytes`. Others of the container wait
 * meanwhile instead of being refused. -ENOMEM. */
int ledger_reserve_remainder(unsigned device_index, uint64_t least_bytes, uint64_t limit_bytes,
                             struct charge *ret_charge);
/* Takes back what dead processes held, before somebody is refused for it. It checks every process, and
 * a program may ask in a loop: what was done a moment ago is not done again. True: it was done, what is
 * used may be less. */
bool ledger_reap_to_refuse(void);
/* The same unless it was done so long ago: for who may see a dead process for a while. */
bool ledger_reap_every(uint64_t every_ns);
/* Who is to be asked whether the driver still holds memory of the dead. After ledger_open(). */
void ledger_ask_driver(const struct region_driver *driver);
/* Waits a moment for the driver to let go of what the dead held, and looks again. False: it holds nothing of
 * them, or has had its time (REGION_LINGER_MS); a refusal stands. */
bool ledger_wait_driver(void);
/* Waits while another process holds the remainder; false: nobody does, a refusal stands. */
bool ledger_wait_measured(unsigned device_index);

/* Time to compare the charges with the driver's own figure? Set now and then by reservations and
 * refusals; whoever asks and is told so does it. */
bool ledger_is_doubtful(void);
/* Compares this process's part, without what only others hold, with what the driver says it holds, pools apart (`pool_bytes` of them are
 * charged). What the driver took unasked is charged; what it no longer holds is given back, and not a
 * second time when it is released. `is_all_charged`: everything in the figure should be. The caller is
 * alone (presence_lock). True: something was given back. */
bool ledger_compare(unsigned device_index, uint64_t figure_bytes, uint64_t pool_bytes,
                    bool is_all_charged);

/* Small allocations lie together in blocks of the driver's: the block is charged, once. The charge
 * is for a whole block; it is given back if the block was there. */
bool ledger_settle_small(struct charge *charge, uint64_t address);

/* Sets aside `bytes` of virtual memory, or as much of them as the container has left: how much. */
uint64_t ledger_reserve_virtual(unsigned device_index, uint64_t bytes, uint64_t limit_bytes);
void ledger_give_back_virtual(unsigned device_index, uint64_t bytes);

/* One more allocation was refused at the limit: a figure for those who watch the container. */
void ledger_count_refusal(unsigned device_index);

/* Charged to the GPU; and to virtual memory. */
uint64_t ledger_used_bytes(unsigned device_index);
/* Of that, managed memory: what the driver may move. A hint. */
uint64_t ledger_managed_bytes(unsigned device_index);
uint64_t ledger_virtual_bytes(unsigned device_index);
struct region *ledger_region(void);
