/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a region: joining, leaving, and reaping those that died. */
#include "region_process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"
#include "region_file.h"
#include "region_pending.h"

enum { REAP_PAUSE = 10 }; /* times as long as it takes */
enum { STAMP_MS = 16, STAMP_MASK = 0xffffff };
/* No process starts then: whoever has this for its start is dead. It is another program now, and the driver has let go
 * of what it held, though it lists the process. */
#define START_NEVER UINT64_MAX

uint32_t region_slots_high(const struct region *region)
{
        uint32_t high = atomic_load(&region->file->slots_high);

        return high < REGION_SLOTS ? high : REGION_SLOTS;
}

static uint64_t state_make(uint32_t pid, uint32_t reaper, enum region_state state)
{
        return (uint64_t)pid << 32 | (uint64_t)reaper << 8 | state;
}

static uint32_t state_pid(uint64_t state)
{
        return (uint32_t)(state >> 32);
}

static uint32_t state_reaper(uint64_t state)
{
        return (uint32_t)(state >> 8) & 0xffffff;
}

static enum region_state state_kind(uint64_t state)
{
        return (enum region_state)(state & 0xff);
}

static bool slot_lives(const struct region *region, uint32_t slot, uint64_t state)
{
        const uint64_t start_time = atomic_load(&region->file->slots[slot].start_time);

        return start_time != START_NEVER && process_is_alive((pid_t)state_pid(state), start_time);
}

bool region_slot_is_alive(const struct region *region, uint32_t slot)
{
        if (slot > REGION_SLOTS)
                return false;
        const uint64_t state = atomic_load(&region->file->slots[slot].state);
        if (state_kind(state) != REGION_LIVE && state_kind(state) != REGION_JOINING)
                return false;
        return slot_lives(region, slot, state);
}

static uint32_t stamp_now(void)
{
        const uint32_t stamp = (uint32_t)(clock_now_ns() / (STAMP_MS * NS_PER_MS)) & STAMP_MASK;

        return stamp ? stamp : 1;
}

static bool slot_is_dead(const struct region *region, uint32_t slot, uint64_t state)
{
        const enum region_state kind = state_kind(state);

        if (kind == REGION_KEPT)
                return slot != region->slot;
        return slot != region->slot && (kind == REGION_LIVE || kind == REGION_JOINING) &&
               !slot_lives(region, slot, state);
}

/* Notes that it is dead, and in the slot itself, when it was found so. */
static bool slot_note_dead(struct region *region, uint32_t slot)
{
        struct region_slot *s = &region->file->slots[slot];
        uint64_t state = atomic_load(&s->state);

        region->dead[slot] = 0;
        if (!slot_is_dead(region, slot, state))
                return false;
        region->dead[slot] = state_pid(state);
        if (state_kind(state) == REGION_KEPT) /* the driver was asked of it before */
                return false;
        if (!state_reaper(state))
                atomic_compare_exchange_strong(
                        &s->state, &state,
                        state_make(state_pid(state), stamp_now(), state_kind(state)));
        return true;
}

/* Whether it was dead before the driver was asked; who has died since waits for the next search, also in a
 * slot that somebody else has freed and a third has taken meanwhile. Checking each process twice would take
 * a crowd twice as long. */
static bool slot_was_dead(const struct region *region, uint32_t slot, uint64_t state)
{
        return !region->driver || region->dead[slot] == state_pid(state);
}

/* The driver may hold a dead process's memory still: what it was charged must not be given to others before
 * it has let go. */
static bool slot_lingers(struct region *region, uint32_t slot, uint64_t state)
{
        const uint32_t found = state_reaper(state), age = (stamp_now() - found) & STAMP_MASK;

        if (!region->driver || state_kind(state) == REGION_KEPT ||
            (found && age * STAMP_MS >= REGION_LINGER_MS) ||
            atomic_load(&region->file->slots[slot].start_time) == START_NEVER ||
            !region->driver->holds(region, slot))
                return false;
        atomic_fetch_add(&region->lingering, 1);
        return true;
}

/* One reaper at a time: the dead slot's state names it. A slot whose reaper died is found through
 * the reaper's own slot, after what that one had begun was finished. */
static bool slot_seize(struct region *region, uint32_t slot)
{
        struct region_slot *s = &region->file->slots[slot];
        uint64_t state = atomic_load(&s->state);

        if (!slot_was_dead(region, slot, state) || !slot_is_dead(region, slot, state) ||
            slot_lingers(region, slot, state))
                return false;
        return atomic_compare_exchange_strong(
                &s->state, &state, state_make(state_pid(state), region->slot, REGION_REAPED));
}

/* Takes over a slot that `reaper`, now dead, was reaping. */
static bool slot_inherit(struct region *region, uint32_t slot, uint32_t reaper)
{
        struct region_slot *s = &region->file->slots[slot];
        uint64_t state = atomic_load(&s->state);

        if (state_kind(state) != REGION_REAPED || state_reaper(state) != reaper)
                return false;
        return atomic_compare_exchange_strong(
                &s->state, &state, state_make(state_pid(state), region->slot, REGION_REAPED));
}

static void slot_free(struct region *region, uint32_t slot)
{
        struct region_slot *s = &region->file->slots[slot];

        atomic_store(&s->start_time, 0);
        atomic_store(&s->state, state_make(0, 0, REGION_FREE));
}

/* Others hold some of its memory still: whoever reaps next looks again. */
static void slot_keep(struct region *region, uint32_t slot)
{
        struct region_slot *s = &region->file->slots[slot];

        atomic_store(&s->state, state_make(state_pid(atomic_load(&s->state)), 0, REGION_KEPT));
}

static bool slot_is_ours(const struct region *region, uint32_t slot)
{
        uint64_t state = atomic_load(&region->file->slots[slot].state);

        return slot != region->slot && state_kind(state) == REGION_REAPED &&
               state_reaper(state) == region->slot;
}

/* Who is being reaped by somebody that we reap. */
static bool slot_inherit_from_ours(struct region *region, uint32_t slot)
{
        uint64_t state = atomic_load(&region->file->slots[slot].state);
        uint32_t reaper = state_reaper(state);

        return slot != region->slot && state_kind(state) == REGION_REAPED && reaper > 0 &&
               reaper <= REGION_SLOTS && reaper != slot && slot_is_ours(region, reaper) &&
               slot_inherit(region, slot, reaper);
}

/* A dead slot that we have seized, and all it had begun to reap: each is brought to rest before any is
 * taken back. No recursion: a guest's stack may be small. */
static unsigned slot_reap(struct region *region, uint32_t slot)
{
        uint32_t high = region_slots_high(region);
        unsigned reaped = 0;
        bool has_more = true;

        region_settle(region, slot);
        while (has_more) {
                has_more = false;
                for (uint32_t i = 1; i <= high; i++)
                        if (slot_inherit_from_ours(region, i)) {
                                region_settle(region, i);
                                has_more = true;
                        }
        }
        for (uint32_t i = 1; i <= high; i++)
                if (slot_is_ours(region, i)) {
                        region_pending_charge(region->file, &region->file->slots[i],
                                              clock_now_ns());
                        if (region_take_back(region, i)) {
                                slot_free(region, i);
                                reaped++;
                        } else {
                                slot_keep(region, i);
                        }
                }
        return reaped;
}

uint64_t region_dead_bytes(const struct region *region, unsigned device)
{
        const uint32_t high = region_slots_high(region);
        uint64_t bytes = 0;

        for (uint32_t i = 1; i <= high; i++) {
                const uint64_t held = region_held_bytes(region, i, device);
                const uint64_t state = atomic_load(&region->file->slots[i].state);

                if (held && state_kind(state) != REGION_KEPT && slot_is_dead(region, i, state))
                        bytes += held;
        }
        return bytes;
}

bool region_reap_is_due(const struct region *region, uint64_t every_ns, uint64_t now_ns)
{
        uint64_t last_ns = atomic_load_explicit(&region->file->reaped_ns, memory_order_relaxed);
        uint64_t took_ns = atomic_load_explicit(&region->file->reap_took_ns, memory_order_relaxed);
        uint64_t pause_ns = took_ns < NS_PER_S / REAP_PAUSE ? took_ns * REAP_PAUSE : NS_PER_S;

        /* A time to come is nonsense: due. */
        return now_ns - last_ns >= (pause_ns > every_ns ? pause_ns : every_ns);
}

/* All that are dead now are dead before the driver is asked. */
static void driver_ask(struct region *region, uint32_t high)
{
        bool has_dead = false;

        atomic_store(&region->lingering, 0);
        for (uint32_t i = 1; region->driver && i <= high; i++)
                has_dead |= slot_note_dead(region, i);
        if (has_dead)
                region->driver->ask();
}

unsigned region_reap(struct region *region)
{
        uint32_t high = region_slots_high(region);
        uint64_t begin_ns = clock_now_ns(), spent_ns = clock_spent_ns();
        unsigned reaped = 0;

        pthread_mutex_lock(&region->reaping);
        driver_ask(region, high);
        for (uint32_t i = 1; i <= high; i++)
                if (slot_seize(region, i))
                        reaped += slot_reap(region, i);
        /* Noted afterwards: who comes meanwhile reaps for itself, and is not refused for the dead. */
        atomic_store(&region->file->reap_took_ns, clock_spent_ns() - spent_ns);
        atomic_store(&region->file->reaped_ns, begin_ns);
        if (reaped)
                atomic_store(&region->file->ended_ns, begin_ns);
        pthread_mutex_unlock(&region->reaping);
        return reaped;
}

static bool slot_claim(struct region *region, uint32_t slot, pid_t pid)
{
        struct region_slot *s = &region->file->slots[slot];
        uint64_t state = atomic_load(&s->state);

        if (state_kind(state) != REGION_FREE)
                return false;
        return atomic_compare_exchange_strong(&s->state, &state,
                                              state_make((uint32_t)pid, 0, REGION_JOINING));
}

static int slot_find(struct region *region, pid_t pid, uint32_t *ret_slot)
{
        _Atomic uint32_t *high = &region->file->slots_high;

        for (uint32_t i = 1; i <= region_slots_high(region); i++)
                if (slot_claim(region, i, pid)) {
                        *ret_slot = i;
                        return 0;
                }
        for (;;) {
                uint32_t last = atomic_load(high), next = last + 1;
                if (last >= REGION_SLOTS)
                        return -EUSERS;
                /* Others read it as soon as `high` says that it is used. */
                const int r = region_file_slot(region, next);
                if (r < 0)
                        return r;
                /* Raised first: a slot taken is a slot that reapers read. */
                atomic_compare_exchange_strong(high, &last, next);
                if (slot_claim(region, next, pid)) {
                        *ret_slot = next;
                        return 0;
                }
        }
}

int region_join(struct region *region)
{
        pid_t pid = getpid();
        uint32_t slot = 0;
        int r = region_file_namespaces(region); /* a child may have been born into others */

        if (r == 0)
                r = slot_find(region, pid, &slot);
        if (r < 0)
                return r;
        struct region_slot *s = &region->file->slots[slot];
        atomic_store(&s->host_pid, 0);
        atomic_store(&s->node_pid, 0);
        for (unsigned i = 0; i < REGION_DEVICES; i++)
                atomic_store(&s->gpu_ns[i], 0);
        for (unsigned i = 0; i < REGION_DEVICES; i++)
                region_pending_note(s, i, 0, 0, 0);
        process_name(s->name, sizeof s->name);
        atomic_store(&s->start_time, process_start_time(pid));
        region->slot = slot;
        memset(region->own_units, 0, sizeof region->own_units);
        atomic_store(&s->state, state_make((uint32_t)pid, 0, REGION_LIVE));
        return 0;
}

void region_forget_image(struct region *region)
{
        const uint32_t pid = (uint32_t)getpid(), high = region_slots_high(region);

        for (uint32_t i = 1; i <= high; i++) {
                struct region_slot *s = &region->file->slots[i];
                const uint64_t state = atomic_load(&s->state);
                const enum region_state kind = state_kind(state);

                if (i != region->slot && state_pid(state) == pid &&
                    (kind == REGION_LIVE || kind == REGION_JOINING))
                        atomic_store(&s->start_time, START_NEVER);
        }
}

static void charges_leave(struct region *region, unsigned device)
{
        struct region_charges *own = &region->file->slots[region->slot].charges[device];
        uint64_t bytes = region_held_bytes(region, region->slot, device);

        if (bytes)
                region_refund(region, device, REGION_OTHER, bytes);
        for (unsigned k = 0; k < REGION_KINDS; k++)
                atomic_store(&own->kinds[k], 0);
}

void region_leave(struct region *region)
{
        if (!region->slot)
                return;
        for (unsigned d = 0; d < region->device_count; d++) {
                charges_leave(region, d);
                charges_leave(region, region_virtual(d));
        }
        slot_free(region, region->slot);
        atomic_store(&region->file->ended_ns, clock_now_ns());
        region->slot = 0;
}

void region_close(struct region *region)
{
        if (!region->file)
                return;
        region_leave(region);
        munmap(region->file, sizeof *region->file);
        if (region->lock_fd >= 0)
                close(region->lock_fd);
        region->file = NULL;
}
