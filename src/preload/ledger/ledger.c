/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: the container's region and the table of this process's holdings. */
#include "ledger.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "correction.h"
#include "exported.h"
#include "integrity.h"
#include "presence.h"
#include "ticks.h"
#include "virtual_range.h"

static_assert(1 << HOLDING_BLOCK_SHIFT == LEDGER_GRANULE_BYTES, "a block is a granule");
static_assert((int)VIRTUAL_RANGE_GRANULE_BYTES == (int)LEDGER_GRANULE_BYTES, "of the same GPU");

static struct region ledger;
static _Atomic bool ledger_doubt; /* to be compared with the driver's figure */

/* A child is another process: it holds nothing, has no slot in the region, and the locks that its
 * parent's other threads held are nobody's. What its parent holds stays its parent's. */
static void ledger_forked(void)
{
        if (!ledger.file)
                return;
        ledger.slot = 0;
        for (unsigned i = 0; i < REGION_CHARGES; i++)
                ledger.locks[i].lock = (struct brief_lock){ 0 };
        pthread_mutex_init(&ledger.reaping, NULL);
        brief_lock_forked();
        holding_clear();
        exported_clear();
        virtual_range_clear();
        presence_clear();
}

static void fork_watch(void)
{
        static bool is_watched;

        if (!is_watched)
                pthread_atfork(NULL, NULL, ledger_forked);
        is_watched = true;
}

int ledger_open(const char *path, unsigned device_count, struct err *e)
{
        const bool is_known = ledger.file;
        int r = is_known ? 0 : region_open(path, device_count, &ledger, e);

        if (r < 0)
                return r;
        integrity_start(path);
        if (!is_known)
                exported_start(&ledger, ledger_release_taken);
        fork_watch();
        if (ledger.slot) /* cuInit again */
                return 0;
        presence_start();
        region_forget_image(&ledger);
        r = region_join(&ledger);
        if (r == -EUSERS) {
                region_reap(&ledger);
                r = region_join(&ledger);
        }
        if (r == -EUSERS)
                return err_set(e, r, "region '%s' has no slot for another process", path);
        if (r < 0)
                return err_set(e, r, "region '%s': %s", path, strerror(-r));
        return 0;
}

bool ledger_is_open(void)
{
        return ledger.slot != 0;
}

struct region *ledger_region(void)
{
        return &ledger;
}

int ledger_reserve(unsigned device_index, uint64_t bytes, uint64_t limit_bytes,
                   struct charge *ret_charge)
{
        int r = region_charge(&ledger, device_index, REGION_DEVICE, bytes, limit_bytes);

        if (r == 0 && !integrity_holds(&ledger, device_index, &ledger_doubt)) {
                region_refund(&ledger, device_index, REGION_DEVICE, bytes);
                return -EUCLEAN;
        }
        if (r == 0)
                *ret_charge = (struct charge){ .device_index = device_index,
                                               .bytes = bytes,
                                               .is_counted = true };
        return r;
}

void ledger_give_back(struct charge *charge)
{
        if (charge->is_counted)
                region_refund(&ledger, charge->device_index, charge->kind, charge->bytes);
        *charge = (struct charge){ 0 };
}

void ledger_adjust(struct charge *charge, uint64_t bytes)
{
        if (!charge->is_counted || bytes == charge->bytes)
                return;
        if (bytes < charge->bytes)
                region_refund(&ledger, charge->device_index, charge->kind, charge->bytes - bytes);
        else /* the driver has taken it: it counts, limit or not */
                region_charge(&ledger, charge->device_index, charge->kind, bytes - charge->bytes,
                              UINT64_MAX);
        charge->bytes = bytes;
}

/* What the memory is for, as `vgpu ps` shows it. */
static enum region_kind kind_shown(enum holding_kind kind)
{
        switch (kind) {
        case HOLDING_DEVICE:
        case HOLDING_SMALL:
        case HOLDING_BLOCK:
                return REGION_DEVICE;
        case HOLDING_MANAGED:
                return REGION_MANAGED;
        case HOLDING_CONTEXT:
        case HOLDING_MODULE:
                return REGION_CONTEXT;
        default:
                return REGION_OTHER;
        }
}

bool ledger_grow(struct charge *charge, uint64_t bytes, uint64_t limit_bytes)
{
        bool is_within = true;

        if (charge->is_counted && bytes > charge->bytes) {
                uint64_t more = bytes - charge->bytes;
                is_within = region_charge(&ledger, charge->device_index, charge->kind, more,
                                          limit_bytes) == 0;
                if (is_within)
                        charge->bytes = bytes;
        }
        ledger_adjust(charge, bytes);
        return is_within;
}

void ledger_rename(struct charge *charge, enum region_kind kind)
{
        if (charge->is_counted && charge->bytes && charge->kind != kind)
                region_rename(&ledger, charge->device_index, charge->kind, kind, charge->bytes);
        charge->kind = kind;
}

bool ledger_settle(struct charge *charge, uint64_t key, enum holding_kind kind)
{
        struct holding holding = {
                .key = key,
                .bytes = charge->is_counted ? charge->bytes : 0,
                .count = 1,
                .device = (uint16_t)charge->device_index,
                .kind = (uint16_t)kind,
                .context = charge->context,
        };

        if (!holding_add(&holding))
                return false;
        ledger_rename(charge, kind_shown(kind));
        return true;
}

bool ledger_settle_more(struct charge *charge, uint64_t key, enum holding_kind kind)
{
        struct holding earlier;

        if (charge->is_counted && holding_take(key, &earlier)) {
                ledger_rename(charge, kind_shown(kind));
                charge->bytes += earlier.bytes;
        }
        return ledger_settle(charge, key, kind);
}

void ledger_shrink(uint64_t key, uint64_t bytes)
{
        struct holding holding;

        if (!bytes || !holding_take(key, &holding))
                return;
        struct holding part = holding;
        part.bytes = bytes < holding.bytes ? bytes : holding.bytes;
        ledger_release_taken(&part);
        holding.bytes -= part.bytes;
        if (holding.bytes)
                holding_add(&holding); /* its row was there a moment ago */
}

bool ledger_settle_small(struct charge *charge, uint64_t address)
{
        struct holding small = { .key = address,
                                 .count = 1,
                                 .device = (uint16_t)charge->device_index,
                                 .kind = HOLDING_SMALL,
                                 .context = charge->context };
        bool is_known;

        if (!holding_add_small(&small, charge->bytes, &is_known))
                return false;
        if (is_known)
                ledger_give_back(charge);
        return true;
}

void ledger_release_taken(const struct holding *holding)
{
        uint64_t bytes = holding->bytes;
        enum region_kind kind = kind_shown(holding->kind);

        if (__builtin_expect(correction_is_owed(holding->device), 0))
                bytes -= correction_pay(&ledger, holding->device, kind, bytes);
        if (bytes)
                region_refund(&ledger, holding->device, kind, bytes);
}

/* Meanwhile its block may have gone with another, or have been noted anew. */
static void small_put_back(const struct holding *taken)
{
        struct charge block = { .device_index = taken->device,
                                .bytes = taken->bytes,
                                .context = taken->context,
                                .is_counted = true };

        ledger_adjust(&block, LEDGER_GRANULE_BYTES);
        ledger_settle_small(&block, taken->key);
}

void ledger_put_back(const struct holding *taken)
{
        if (taken->kind == HOLDING_SMALL)
                small_put_back(taken);
        else
                holding_add(taken);
}

bool ledger_release(uint64_t key)
{
        struct holding holding;

        if (!holding_take(key, &holding))
                return false;
        ledger_release_taken(&holding);
        return true;
}

void ledger_release_context(uint64_t context)
{
        struct holding holding;

        while (context && holding_take_of(context, &holding))
                ledger_release_taken(&holding);
        if (context)
                virtual_range_release_context(context, &ledger);
}

/* Processes wait for each other by the lower half of the word, which holds the slot's number. */
static void measuring_wake_one(_Atomic uint64_t *measuring)
{
        syscall(SYS_futex, measuring, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void measuring_wait(_Atomic uint64_t *measuring, uint64_t holder, unsigned milliseconds)
{
        const struct timespec most = { .tv_nsec = (long)(milliseconds * NS_PER_MS) };
        int saved_errno = errno;

        syscall(SYS_futex, measuring, FUTEX_WAIT, (uint32_t)holder, &most, NULL, 0);
        errno = saved_errno;
}

/* Woken one at a time: a crowd that waits does not run all at once. False: nobody measures, or whoever
 * does is dead, or has taken too long: it may be stopped by a signal. */
static bool measuring_await(unsigned device_index)
{
        enum { POLL_MS = 10, POLLS_PER_MS = 20, WAIT_MOST_MS = 5000 };
        _Atomic uint64_t *measuring = &ledger.file->devices[device_index].measuring;
        uint64_t holder = atomic_load(measuring);
        /* Each checks now and then whether the holder lives; all together not too often. */
        unsigned poll_ms = POLL_MS + region_slots_high(&ledger) / POLLS_PER_MS;

        if (!holder || holder > REGION_SLOTS || holder == ledger.slot)
                return false;
        for (unsigned waited = 0; waited < WAIT_MOST_MS; waited += poll_ms) {
                if (atomic_load(measuring) != holder)
                        return true;
                if (!region_slot_is_alive(&ledger, (uint32_t)holder))
                        return false;
                measuring_wait(measuring, holder, poll_ms);
        }
        return false;
}

void ledger_measure(unsigned device_index)
{
        _Atomic uint64_t *measuring = &ledger.file->devices[device_index].measuring;
        uint64_t nobody = 0;

        while (!atomic_compare_exchange_strong(measuring, &nobody, ledger.slot)) {
                if (!measuring_await(device_index))
                        atomic_compare_exchange_strong(measuring, &nobody, 0);
                nobody = 0;
        }
}

int ledger_reserve_remainder(unsigned device_index, uint64_t least_bytes, uint64_t limit_bytes,
                             struct charge *ret_charge)
{
        for (;;) {
                uint64_t used = region_used_bytes(&ledger, device_index);
                uint64_t remainder =
                        limit_bytes > used ? (limit_bytes - used) & ~(REGION_UNIT_BYTES - 1) : 0;
                if (limit_bytes == UINT64_MAX)
                        remainder = least_bytes; /* no limit: nothing to hold others off from */
                if (remainder < least_bytes)
                        return -ENOMEM;
                int r = ledger_reserve(device_index, remainder, limit_bytes, ret_charge);
                if (r != -ENOMEM) /* else somebody was quicker */
                        return r;
        }
}

void ledger_measured(unsigned device_index)
{
        _Atomic uint64_t *measuring = &ledger.file->devices[device_index].measuring;
        uint64_t own = ledger.slot;

        if (atomic_compare_exchange_strong(measuring, &own, 0))
                measuring_wake_one(measuring);
}

static bool reap(void)
{
        region_reap(&ledger);
        exported_check();
        atomic_store_explicit(&ledger_doubt, true, memory_order_relaxed);
        return true;
}

bool ledger_reap_every(uint64_t every_ns)
{
        return region_reap_is_due(&ledger, every_ns, clock_now_ns()) && reap();
}

bool ledger_reap_to_refuse(void)
{
        enum { LOOP_US = 20, QUIET_US = 1000, OTHERS_NS = 200000 };
        static _Atomic uint64_t asked_ticks;
        const uint64_t ticks = ticks_now(), hz = ticks_hz();
        const uint64_t since = ticks - atomic_load_explicit(&asked_ticks, memory_order_relaxed);

        /* A program that asks in a loop does not read the clock each time. */
        if (ticks && since < ticks_in_us(LOOP_US, hz))
                return false;
        atomic_store_explicit(&asked_ticks, ticks, memory_order_relaxed);
        /* What others did last does not count for one that is to be refused for the first time in a
         * while: a process may have died since, and the program may know that. */
        if (!ticks || since >= ticks_in_us(QUIET_US, hz))
                return reap();
        return region_reap_is_due(&ledger, OTHERS_NS, clock_now_ns()) && reap();
}

void ledger_ask_driver(const struct region_driver *driver)
{
        ledger.driver = driver;
}

bool ledger_wait_driver(void)
{
        const struct timespec moment = { .tv_nsec = NS_PER_MS };
        const int saved_errno = errno;

        if (!atomic_load_explicit(&ledger.lingering, memory_order_relaxed))
                return false;
        nanosleep(&moment, NULL);
        errno = saved_errno;
        return reap();
}

bool ledger_wait_measured(unsigned device_index)
{
        bool has_waited = measuring_await(device_index);

        /* We do not measure: the next one may. */
        if (has_waited)
                measuring_wake_one(&ledger.file->devices[device_index].measuring);
        return has_waited;
}

uint64_t ledger_reserve_virtual(unsigned device_index, uint64_t bytes, uint64_t limit_bytes)
{
        unsigned virtual = region_virtual(device_index);

        for (;;) {
                uint64_t used = region_used_bytes(&ledger, virtual);
                uint64_t remainder =
                        limit_bytes > used ? (limit_bytes - used) & ~(REGION_UNIT_BYTES - 1) : 0;
                uint64_t taken = bytes < remainder ? bytes : remainder;
                if (!taken)
                        return 0;
                if (region_charge(&ledger, virtual, REGION_MANAGED, taken, limit_bytes) < 0)
                        continue;
                if (integrity_holds(&ledger, device_index, &ledger_doubt))
                        return taken;
                ledger_give_back_virtual(device_index, taken);
                return 0;
        }
}

void ledger_give_back_virtual(unsigned device_index, uint64_t bytes)
{
        if (bytes)
                region_refund(&ledger, region_virtual(device_index), REGION_MANAGED, bytes);
}

bool ledger_is_doubtful(void)
{
        return atomic_load_explicit(&ledger_doubt, memory_order_relaxed) &&
               atomic_exchange(&ledger_doubt, false);
}

bool ledger_compare(unsigned device_index, uint64_t figure_bytes, uint64_t pool_bytes,
                    bool is_all_charged)
{
        const struct region_charges *own = &ledger.file->slots[ledger.slot].charges[device_index];
        uint64_t held = exported_held_bytes(device_index);
        uint64_t on_host = region_held_bytes(&ledger, ledger.slot, region_virtual(device_index));
        /* Managed memory is on the GPU or not, as it is used. */
        uint64_t managed = atomic_load(&own->kinds[REGION_MANAGED]);

        if (held < pool_bytes)
                return false;
        held -= pool_bytes;
        if (is_all_charged && held + on_host < figure_bytes)
                correction_add(&ledger, device_index, figure_bytes - held - on_host);
        if (held < managed || held - managed <= figure_bytes)
                return false;
        correction_take(&ledger, device_index, held - managed - figure_bytes);
        return true;
}

void ledger_count_refusal(unsigned device_index)
{
        if (ledger.file)
                atomic_fetch_add_explicit(&ledger.file->devices[device_index].refusals, 1,
                                          memory_order_relaxed);
}

uint64_t ledger_used_bytes(unsigned device_index)
{
        return region_used_bytes(&ledger, device_index);
}

uint64_t ledger_managed_bytes(unsigned device_index)
{
        const uint32_t high = region_slots_high(&ledger);
        uint64_t sum = 0;

        for (uint32_t i = 1; i <= high; i++)
                sum += atomic_load_explicit(
                        &ledger.file->slots[i].charges[device_index].kinds[REGION_MANAGED],
                        memory_order_relaxed);
        return sum;
}

uint64_t ledger_virtual_bytes(unsigned device_index)
{
        return region_used_bytes(&ledger, region_virtual(device_index));
}
