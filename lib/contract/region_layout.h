/* SPDX-License-Identifier: Apache-2.0 */
/* The region: what a container is charged for device memory, shared by its processes.
 *
 * One word per device holds what is used and the last operation that changed it: {units, slot,
 * number}. A slot is a process's record. An operation is
 *     intent   the slot says what it is about to do, under a new number
 *     apply    one compare-and-swap of the device's word; from here on it counts
 *     held     the slot's own total and the number, in one word
 * A process may die between any two of these. Whether a dead process's last intent was applied is
 * always known: either the device's word still names it, or whoever replaced it noted it first
 * (`noted`), or the slot itself had gone on to `held`. So the region is exact without a lock.
 *
 * A device has two such words: at its index what is charged to the GPU, and REGION_DEVICES further what
 * lies on the host instead (virtual memory). */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
        REGION_VERSION = 6,
        REGION_DEVICES = 64,
        REGION_CHARGES = 2 * REGION_DEVICES, /* of the devices, then virtual */
        REGION_SLOTS = 8191,                 /* processes at a time; slot 0 is nobody */
        REGION_UNIT_BITS = 9,                /* the region counts 512-byte units */
        REGION_NUMBER_BITS = 14,
        REGION_SLOT_BITS = 13,
        REGION_UUID = 48,
        REGION_CELLS = 8192, /* of 240 µs of use that is remembered */
        REGION_WAITS = 1024, /* of 2.4 ms of waits that are */
        REGION_COSTS = 4096, /* kinds of work */
        REGION_NAMESPACES = 2,
};
#define REGION_MAGIC       UINT64_C(0x6e6f696765727676) /* "vvregion" */
#define REGION_UNIT_BYTES  (UINT64_C(1) << REGION_UNIT_BITS)
#define REGION_NUMBER_MASK ((UINT64_C(1) << REGION_NUMBER_BITS) - 1)
#define REGION_SLOT_MASK   ((UINT64_C(1) << REGION_SLOT_BITS) - 1)
#define REGION_UNITS_MAX   ((UINT64_C(1) << (64 - REGION_SLOT_BITS - REGION_NUMBER_BITS)) - 1)

/* What memory is for; for display, never for the limit. */
enum region_kind { REGION_DEVICE, REGION_MANAGED, REGION_CONTEXT, REGION_OTHER, REGION_KINDS };

struct region_charges {          /* one process on one device: a cache line */
        _Atomic uint64_t held;   /* {units, number}: all operations up to `number` */
        _Atomic uint64_t intent; /* {delta in units, number}: = held's number when at rest */
        _Atomic uint64_t noted;  /* {count, number}: the newest that others saw applied */
        _Atomic uint64_t
                victim; /* ≠ 0: the intent takes this dead slot's units back, all but so many: {kept, slot} */
        _Atomic uint64_t kinds[REGION_KINDS];
};
static_assert(sizeof(struct region_charges) == 64, "one cache line");

/* What a process left to a device; region_pending.h has the operations. */
struct region_pending {
        _Atomic uint64_t word;    /* {since when, how much of it was charged}; 0: nothing */
        _Atomic uint64_t seen_ns; /* when it was last seen to be not done */
};

/* KEPT: the process is gone, and others hold memory still that it had exported. */
enum region_state { REGION_FREE, REGION_JOINING, REGION_LIVE, REGION_REAPED, REGION_KEPT };
struct region_slot {
        /* {pid, reaper's slot, enum region_state}; of a dead process that nobody reaps yet {pid, when it was
         * found dead, enum region_state} */
        _Atomic uint64_t state;
        _Atomic uint64_t start_time; /* of the process, clock ticks since boot; 0: not known */
        _Atomic uint32_t host_pid;   /* by which the driver knows it, in here; 0: not known */
        _Atomic uint32_t node_pid;   /* by which the node's agent does; 0: it was not asked */
        char name[40];
        _Atomic uint64_t gpu_ns[REGION_DEVICES]; /* GPU time it used */
        struct region_pending pendings[REGION_DEVICES];
        struct region_charges charges[REGION_CHARGES];
};
static_assert(sizeof(struct region_slot) % 64 == 0, "charges stay in their cache lines");

struct region_device {
        _Atomic uint64_t word; /* {units, slot, number} */
        _Atomic uint64_t refusals;
        _Atomic uint64_t context_bytes; /* what a context took when one was last made */
        _Atomic uint64_t measuring;     /* the slot that holds all that is left while it measures */
        char uuid[REGION_UUID];
        /* {device, inode} of the file of which exported handles are open files; 0: nothing was exported.
         * export_range.h has the locks on it. */
        _Atomic uint64_t export_node[2];
        uint64_t reserved[4];
};
static_assert(sizeof(struct region_device) == 128, "two cache lines: words do not share one");

/* GPU time of the container on one device; region_compute.h has the operations. */
struct region_compute {
        _Atomic uint64_t debt;           /* {when all is paid, at which rate} */
        _Atomic uint64_t longest_ns;     /* the longest piece of work seen */
        _Atomic uint64_t gpu_ns;         /* used in all */
        _Atomic uint64_t throttled_ns;   /* waited for its limit in all */
        _Atomic uint32_t wake;           /* futex: those who wait check again */
        _Atomic uint32_t share_permille; /* what the share said last; 0: nothing */
        _Atomic uint64_t kept; /* {until, how much beyond the depth}: region_compute_keep() */
        uint64_t reserved[2];
        _Atomic uint64_t cells[REGION_CELLS]; /* {which 240 µs, a bit for each 10 of them} */
        _Atomic uint64_t waits[REGION_WAITS]; /* {which 2.4 ms, a bit for each 100 µs of them} */
};
static_assert(sizeof(struct region_compute) % 64 == 0, "devices do not share cache lines");

/* What a kind of work takes; region_cost.h has the operations. */
struct region_cost {
        _Atomic uint64_t key; /* 0: free */
        _Atomic uint64_t ns;
};

struct region_file {
        _Atomic uint64_t magic; /* written last: a half-made region is invisible */
        uint32_t version;
        uint32_t device_count;
        _Atomic uint32_t slots_high; /* slots ever used */
        _Atomic uint32_t fault;      /* enum region_fault: what a process has found wrong with it */
        _Atomic uint64_t reaped_ns;  /* when the dead were last reaped (monotonic clock) */
        _Atomic uint64_t reap_took_ns; /* and what that took on a core */
        _Atomic uint64_t ended_ns;     /* when a process was last found dead or left */
        /* In which pids and start times are to be read: those of pids and of time, by inode; 0: not noted. */
        _Atomic uint64_t namespaces[REGION_NAMESPACES];
        uint64_t reserved[10 - REGION_NAMESPACES];
        struct region_device devices[REGION_CHARGES];
        struct region_compute computes[REGION_DEVICES];
        struct region_cost costs[REGION_COSTS];
        struct region_slot slots[REGION_SLOTS + 1];
};
static_assert(offsetof(struct region_file, devices) == 128, "read by other releases");
