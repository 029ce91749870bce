/* SPDX-License-Identifier: Apache-2.0 */
/* The region, in which a container's processes keep what they hold: open it, join it, charge it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include "brief_lock.h"
#include "err.h"
#include "file_identity.h"
#include "region_layout.h"
#include "share_layout.h"

enum { REGION_LINGER_MS = 5000 };
/* Of a new file; region_open() lets those read it whom the umask lets write. */
enum { REGION_MODE = 0622 };

struct region;

/* Who knows which of the dead the driver still holds memory of: it may free that a while after the process
 * is gone. Asked once per search that finds any dead, afterwards, and then told of each. */
struct region_driver {
        void (*ask)(void);
        bool (*holds)(const struct region *region, uint32_t slot);
        /* So many bytes of a device that it had are in others' hands, and stay charged until a later search
         * finds that they are not. */
        uint64_t (*kept)(const struct region *region, uint32_t slot, unsigned device);
};

/* This process's view. Embedded by its one owner. */
struct region {
        struct region_file *file;
        uint32_t slot; /* 0: not joined */
        uint32_t device_count;
        /* For the threads of this process; the process dies with the lock or not at all. */
        struct {
                _Alignas(64) struct brief_lock lock;
        } locks[REGION_CHARGES];
        pthread_mutex_t reaping;
        uint32_t dead[REGION_SLOTS +
                      1]; /* under it: pids of those dead before the driver was asked */
        const struct region_driver *driver; /* NULL: what is dead holds nothing */
        _Atomic uint32_t lingering;    /* dead in the last search, and not let go by the driver */
        struct file_identity identity; /* of the file that is mapped */
        int lock_fd;                   /* -1: the mapping alone keeps the file locked */
        char path[SHARE_TEXT];         /* where it was */
        /* What we have written of our own, to be held against what is there: units, under the lock. */
        uint64_t own_units[REGION_CHARGES];
};

/* Maps the region at `path`, creating it if absent. -EPROTO: no region, or another release's; -EXDEV: it is in use by
 * processes in other pid or time namespaces. */
int region_open(const char *path, unsigned device_count, struct region *ret_region, struct err *e);
/* Makes the region of a container, with room for all devices that there can be. -EEXIST. Nothing is left behind on
 * failure. */
int region_create(const char *path, uint64_t *ret_inode, struct err *e);
void region_close(struct region *region);

/* Takes a slot for this process. -EUSERS: all are taken by the living; -ENOSPC, -EDQUOT: the file system has no
 * space for another; -EXDEV: as above. */
int region_join(struct region *region);
/* Whoever has not joined yet may have done so before execve(): what it held then went with that program, and its slot
 * is a dead process's. */
void region_forget_image(struct region *region);
/* Gives back all the process held. A process that dies without is reaped by the others. */
void region_leave(struct region *region);

/* The index of a device's virtual memory, wherever the device's own can be named below. */
static inline unsigned region_virtual(unsigned device)
{
        return device + REGION_DEVICES;
}

/* Takes `bytes` (rounded up to units) if the whole stays within `limit_bytes`: one step, atomic
 * between processes. -ENOMEM: it does not fit. */
int region_charge(struct region *region, unsigned device, enum region_kind kind, uint64_t bytes,
                  uint64_t limit_bytes);
void region_refund(struct region *region, unsigned device, enum region_kind kind, uint64_t bytes);
/* What was charged as one kind is of another. */
void region_rename(struct region *region, unsigned device, enum region_kind from,
                   enum region_kind to, uint64_t bytes);

uint64_t region_used_bytes(const struct region *region, unsigned device);
uint64_t region_held_bytes(const struct region *region, uint32_t slot, unsigned device);

/* Takes back what dead processes held, once the driver has let go of it, or has had REGION_LINGER_MS for
 * that; returns how many there were. */
unsigned region_reap(struct region *region);
/* Was that last done, by any process, `every_ns` ago? In a crowd less often: looking at thousands of
 * processes takes a while, and must not be all that they do. */
bool region_reap_is_due(const struct region *region, uint64_t every_ns, uint64_t now_ns);
/* Slots 1 to this have been used: never more than there are, whatever is written in the file. */
uint32_t region_slots_high(const struct region *region);
bool region_slot_is_alive(const struct region *region, uint32_t slot);
/* Of what is used: held by dead processes that are not reaped, and by nobody else. It checks each process that
 * holds some. */
uint64_t region_dead_bytes(const struct region *region, unsigned device);
