/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a machine: attaching, and freeing what the dead held. */
#include "slot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "export.h"
#include "kept_memory.h"
#include "process.h"
#include "timeline_internal.h"

/* Bits of a robust lock's word, as the kernel's futex interface defines them. */
enum { LOCK_OWNER_DIED = 0x40000000, LOCK_OWNER = 0x3fffffff };

/* glibc keeps the futex word first in its robust mutex; only reading needs no system call, and trylock
 * would make the reader the heir. */
static int life_word(const struct machine_slot *slot)
{
        return __atomic_load_n((const int *)&slot->life, __ATOMIC_ACQUIRE);
}

bool slot_is_alive(const struct machine *machine, uint32_t index)
{
        const struct machine_slot *slot = &machine->file->slots[index];
        const int word = life_word(slot);

        /* An heir has the lock while it cleans up: that is no life. */
        return atomic_load(&slot->state) == SLOT_LIVE && (word & LOCK_OWNER) &&
               (uint32_t)(word & LOCK_OWNER) == slot->owner && !(word & LOCK_OWNER_DIED);
}

bool slot_is_gone(const struct machine *machine, uint32_t index)
{
        const struct machine_slot *slot = &machine->file->slots[index];

        switch (atomic_load(&slot->state)) {
        case SLOT_LIVE:
                return !atomic_load_explicit(&machine->file->header.release_us,
                                             memory_order_relaxed) &&
                       !slot_is_alive(machine, index);
        case SLOT_DYING:
                return clock_now_ns() >= slot->freed_ns;
        default:
                return true;
        }
}

bool slot_is_listed(const struct machine *machine, uint32_t index)
{
        return atomic_load(&machine->file->slots[index].state) != SLOT_FREE &&
               !slot_is_gone(machine, index);
}

static void channel_free(struct machine *machine, unsigned unit_index, uint32_t channel)
{
        struct machine_unit *unit = machine_unit(machine, unit_index);

        timeline_lock(machine, unit_index);
        for (unsigned i = 0; i < ENGINE_COUNT; i++)
                if (unit->engines[i].current == channel + 1)
                        unit->engines[i].current = 0;
        atomic_fetch_and(&unit->active[channel / 64], ~(UINT64_C(1) << channel % 64));
        atomic_store(&machine->file->channels[channel].slot, 0);
        timeline_unlock(machine, unit_index);
}

/* The channels name their slot before the slot names them: one that died in between left a channel
 * that only this search finds. */
static void channels_free(struct machine *machine, struct machine_slot *slot)
{
        uint32_t high = atomic_load(&machine->file->header.channels_high);
        uint32_t owner = slot_index(machine, slot) + 1;

        for (uint32_t i = 0; i < high; i++)
                if (atomic_load(&machine->file->channels[i].slot) == owner)
                        channel_free(machine, machine->file->channels[i].unit, i);
}

static void memory_free(struct machine *machine, struct machine_slot *slot)
{
        for (unsigned u = 0; u < MACHINE_UNITS; u++) {
                struct machine_slot_unit *held = &slot->units[u];
                if (!held->device_bytes && !held->managed_bytes)
                        continue;
                struct machine_unit *unit = machine_unit(machine, u);
                bool is_heir = machine_lock(&unit->memory_lock);
                kept_memory_leave_all(machine, u, slot_index(machine, slot));
                unit->used_bytes -= held->device_bytes + held->managed_bytes;
                *held = (struct machine_slot_unit){ 0 };
                if (is_heir)
                        slot_sum_unit(machine, u);
                machine_unlock(&unit->memory_lock);
        }
}

/* The caller holds its life: nobody takes it for a living one from here on. */
static void slot_end(struct machine_slot *slot, uint64_t delay_ns)
{
        if (atomic_load(&slot->state) != SLOT_LIVE)
                return;
        slot->freed_ns = clock_now_ns() + delay_ns;
        atomic_store(&slot->state, SLOT_DYING);
}

/* Everything here may be done again from the start: a reaper may die too. True: the slot is free. */
static bool slot_clean(struct machine *machine, struct machine_slot *slot)
{
        if (atomic_load(&slot->state) == SLOT_FREE)
                return true;
        export_reap(machine, slot_index(machine, slot));
        channels_free(machine, slot);
        for (unsigned u = 0; u < MACHINE_UNITS; u++)
                slot->units[u].channel = 0;
        if (clock_now_ns() < slot->freed_ns)
                return false;
        memory_free(machine, slot);
        atomic_store(&slot->content_bytes, 0);
        atomic_store(&slot->state, SLOT_FREE);
        return true;
}

void slot_sum_unit(struct machine *machine, unsigned unit_index)
{
        struct machine_unit *unit = machine_unit(machine, unit_index);
        uint32_t high = atomic_load(&machine->file->header.slots_high);
        uint64_t sum = unit->outsider_bytes + kept_memory_sum(machine, unit_index);

        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot *slot = &machine->file->slots[i];
                if (atomic_load(&slot->state) != SLOT_FREE)
                        sum += slot->units[unit_index].device_bytes +
                               slot->units[unit_index].managed_bytes;
        }
        unit->used_bytes = sum;
}

/* Takes the slot's life if nobody has it, and the driver is done with a dead owner's memory. */
static bool slot_claim(struct machine *machine, struct machine_slot *slot)
{
        const uint64_t release_us = atomic_load(&machine->file->header.release_us);
        int r = pthread_mutex_trylock(&slot->life);

        if (r == EOWNERDEAD)
                pthread_mutex_consistent(&slot->life);
        else if (r != 0)
                return false;
        if (atomic_load(&slot->state) == SLOT_LIVE)
                machine_count(machine, COUNTER_REAPED, 1);
        slot_end(slot, release_us * NS_PER_US);
        if (slot_clean(machine, slot))
                return true;
        pthread_mutex_unlock(&slot->life);
        return false;
}

static int slot_take(struct machine *machine, struct machine_slot **ret_slot)
{
        struct machine_file *file = machine->file;
        uint32_t high = atomic_load(&file->header.slots_high);

        for (uint32_t i = 0; i < high; i++) {
                if (slot_claim(machine, &file->slots[i])) {
                        *ret_slot = &file->slots[i];
                        return 0;
                }
        }
        if (high == MACHINE_SLOTS)
                return -EUSERS;

        struct machine_slot *slot = &file->slots[high];
        off_t offset = (off_t)((char *)slot - (char *)file);
        int r = posix_fallocate(machine->fd, offset, (off_t)sizeof *slot);
        if (r)
                return -r;
        memset((void *)slot, 0, sizeof *slot);
        machine_lock_init(&slot->life);
        pthread_mutex_lock(&slot->life);
        atomic_store(&file->header.slots_high, high + 1);
        *ret_slot = slot;
        return 0;
}

static void slot_describe(struct machine *machine, struct machine_slot *slot)
{
        struct stat st;
        ssize_t length = readlink("/proc/self/exe", slot->path, sizeof slot->path - 1);

        slot->path[length > 0 ? length : 0] = '\0';
        slot->pid = getpid();
        slot->pid_namespace = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
        slot->owner = (uint32_t)(life_word(slot) & LOCK_OWNER);
        slot->start_time = process_start_time(PROCESS_SELF);
        slot->attach_ns = machine_now_ns(machine);
        slot->launches = 0;
        memset(slot->units, 0, sizeof slot->units);
}

int slot_attach(struct machine *machine, struct machine_slot **ret_slot)
{
        struct machine_slot *slot;

        machine_lock(&machine->file->header.lock);
        int r = slot_take(machine, &slot);
        if (r == 0) {
                slot_describe(machine, slot);
                atomic_store(&slot->state, SLOT_LIVE);
                *ret_slot = slot;
        }
        machine_unlock(&machine->file->header.lock);
        return r;
}

void slot_detach(struct machine *machine, struct machine_slot *slot)
{
        slot_end(slot, 0);
        slot_clean(machine, slot);
        pthread_mutex_unlock(&slot->life);
}

unsigned slot_reap(struct machine *machine)
{
        uint32_t high = atomic_load(&machine->file->header.slots_high);
        unsigned reaped = 0;

        for (uint32_t i = 0; i < high; i++) {
                struct machine_slot *slot = &machine->file->slots[i];
                const uint32_t state = atomic_load(&slot->state);
                if (state == SLOT_FREE || slot_is_alive(machine, i) ||
                    (state == SLOT_DYING && !slot_is_gone(machine, i)))
                        continue;
                if (!slot_claim(machine, slot))
                        continue;
                pthread_mutex_unlock(&slot->life);
                reaped++;
        }
        return reaped;
}
