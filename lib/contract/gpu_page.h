/* SPDX-License-Identifier: Apache-2.0 */
/* GPU pages: what a container (a tenant) and the arbiter of a GPU say to each other. Two pages for
 * each tenant and GPU, in two files so that they can be mounted differently:
 *
 *     grant   written by the arbiter, read-only for the tenant: may it submit work, until when
 *     want    written by the tenant's processes, one slot each: does it want to, has it work there
 *
 * The token. At most one tenant per GPU may submit at a time. A process marks its slot ACTIVE, then
 * looks at the grant again; the arbiter closes the grant, then looks at the slots. Both in sequentially
 * consistent order, so that of the two at least one sees the other: never two holders, and no lock
 * that somebody dead or stopped could hold. The tenant's side of it is gpu_timeslice.h.
 *
 * The early grant. A tenant whose time slice ends marks its slots DRAINS and says when its work should be
 * done. Once its grant is closed it cannot submit, so that the next tenant may be told to begin then
 * (not_before_ns): it wakes up while the last work runs. At most one tenant drains so.
 *
 * What a tenant writes is a hint. It can damage its own time slices with it; virtual time and balance are
 * in the arbiter's own memory, and every value read from a want page is clamped.
 *
 * Doorbell: a futex word in the want file, one for all of the tenant's GPUs, because it needs no
 * descriptor in a foreign program (which may close all it does not know, or fork) and no polling: the
 * arbiter sleeps on the words of all tenants at once. Times are CLOCK_MONOTONIC in nanoseconds. */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "share_layout.h"

enum {
        GPU_PAGE_VERSION = 1,
        GPU_PAGE_BYTES = 4096,
        GPU_PAGE_MACHINE = 64,
        GPU_SLOTS = 120, /* processes of one container on one GPU that take time slices */
};
#define GPU_GRANT_MAGIC UINT64_C(0x746e617267757076) /* "vpugrant" */
#define GPU_WANT_MAGIC  UINT64_C(0x746e617775757076) /* "vpuuwant" */
#define GPU_NO_DEADLINE UINT64_MAX

/* What a grant's word says, in its low bits; above them a number that grows with each change. */
enum gpu_grant_state {
        GPU_CLOSED, /* wait */
        GPU_OPEN,   /* submit until the deadline, have it done by then */
        GPU_FREE,   /* none for this tenant: the driver's own slices, its own debt alone */
};
enum { GPU_STATE_BITS = 2, GPU_STATE_MASK = 3 };

enum gpu_grant_flag {
        GPU_GRANT_CROWDED = 1, /* resident sets exceed the GPU: bring the hot ranges in first */
};

struct gpu_grant {                     /* one tenant on one GPU */
        _Atomic uint32_t timeslice;    /* futex: {number, enum gpu_grant_state} */
        _Atomic uint32_t flags;        /* enum gpu_grant_flag */
        _Atomic uint64_t deadline_ns;  /* of an open time slice, may move meanwhile; closed: 0 */
        _Atomic uint64_t quantum_ns;   /* how long a time slice is meant to be */
        _Atomic uint64_t in_flight_ns; /* have no more work than this submitted and not done */
        _Atomic uint64_t heartbeat_ns; /* the arbiter looked; at least every GPU_BEAT_NS while
                                            anybody waits */
        _Atomic uint64_t cap_ns_per_s; /* GPU time per second it may use; 0: as the share says */
        _Atomic uint32_t weight;       /* its part when several want more than there is */
        uint32_t reserved;
        /* For display. */
        _Atomic uint64_t timeslices; /* given so far */
        _Atomic uint64_t held_ns;    /* the token, so far */
        _Atomic uint64_t waited_ns;  /* wanted and had it not, so far */
        _Atomic uint64_t charged_ns; /* GPU time counted in its virtual time, so far */
        _Atomic uint64_t lapses;     /* time slices taken away because it did not drain */
        _Atomic uint64_t swap_ns;    /* estimated time its working set takes to come in; 0: fits */
        /* Written once, by whoever made the page. */
        uint64_t device_bytes;     /* memory of the whole GPU; 0: not known */
        uint64_t swap_bytes_per_s; /* how fast managed memory is brought onto it */
        /* Of an open time slice: the work of the one before should be done by then; submit nothing
         * earlier. May move; 0: it is done. */
        _Atomic uint64_t not_before_ns;
        _Atomic uint64_t others_bytes; /* what could be pushed off the GPU of the other tenants */
        uint64_t unused[495];
};
static_assert(sizeof(struct gpu_grant) == GPU_PAGE_BYTES, "read by other releases");
static_assert(offsetof(struct gpu_grant, timeslices) == 56, "read by other releases");

/* A process slot on one GPU. */
enum gpu_slot_state {
        GPU_IDLE,   /* nothing to submit, nothing on the GPU */
        GPU_WANTS,  /* waits for the time slice; nothing on the GPU */
        GPU_ACTIVE, /* submits, or has work on the GPU */
        GPU_DRAINS, /* has work on the GPU until about done_ns, and submits no more before it is granted */
};
struct gpu_slot {
        _Atomic uint32_t pid;        /* as the tenant sees it; 0: free */
        _Atomic uint32_t state;      /* {number of the slice it last began, enum gpu_slot_state} */
        _Atomic uint64_t start_time; /* of the process, clock ticks since boot */
        _Atomic uint64_t busy_ns;    /* GPU time it measured, ever */
        _Atomic uint64_t done_ns;    /* when what it has submitted should be done; 0: nothing is */
};
static_assert(sizeof(struct gpu_slot) == 32, "read by other releases");

struct gpu_want {                        /* one tenant on one GPU */
        _Atomic uint64_t resident_bytes; /* what its work touches, wherever it lies now */
        _Atomic uint64_t movable_bytes;  /* of these, what others can push off the GPU */
        _Atomic uint32_t slots_high;     /* slots ever used */
        uint32_t reserved;
        _Atomic uint64_t beats;    /* grows while any of its processes looks after its time slice */
        _Atomic uint64_t begun_ns; /* when one of its processes last began a time slice */
        uint64_t unused[27];
        struct gpu_slot slots[GPU_SLOTS];
};
static_assert(sizeof(struct gpu_want) == GPU_PAGE_BYTES, "read by other releases");

/* The files: a page of their own, then one per device of the share, in the share's order. */
struct gpu_grant_file {
        _Atomic uint64_t magic; /* written last */
        uint32_t version;
        uint32_t device_count;
        char machine[GPU_PAGE_MACHINE]; /* which machine the GPUs belong to */
        uint64_t unused[502];
        struct gpu_grant devices[SHARE_DEVICES];
};
static_assert(offsetof(struct gpu_grant_file, devices) == GPU_PAGE_BYTES, "a page of its own");

struct gpu_want_file {
        _Atomic uint64_t magic; /* written last */
        uint32_t version;
        uint32_t device_count;
        _Atomic uint32_t bell;  /* futex: something changed; the arbiter waits on it */
        _Atomic uint32_t alarm; /* futex: nobody answers; candidates for arbiter wait on it */
        uint64_t unused[509];
        struct gpu_want devices[SHARE_DEVICES];
};
static_assert(offsetof(struct gpu_want_file, devices) == GPU_PAGE_BYTES, "a page of its own");

/* While somebody waits, the arbiter looks at least this often … */
#define GPU_BEAT_NS UINT64_C(8000000)
/* … and a tenant that has seen no heartbeat for this long goes on by its own debt alone. */
#define GPU_STALE_NS UINT64_C(32000000)

struct gpu_device {
        uint64_t memory_bytes, swap_bytes_per_s; /* 0: not known */
};

/* Makes both files, with a page for each GPU; existing ones stay as they are. Nothing is left behind
 * on failure. */
int gpu_page_create(const char *grant_path, const char *want_path, const char *machine,
                    const struct gpu_device *devices, unsigned device_count, struct err *e);

/* The files beside the share file and the region. */
void gpu_page_grant_path(const char *share_path, char ret_path[SHARE_TEXT]);
void gpu_page_want_path(const char *region_path, char ret_path[SHARE_TEXT]);

/* Maps one. -EPROTO: no such file, or another release's. The caller unmaps it. */
int gpu_grant_map(const char *path, int protection, struct gpu_grant_file **ret_file,
                  struct err *e);
int gpu_want_map(const char *path, struct gpu_want_file **ret_file, struct err *e);
/* Pages that the file has: read once, and never more than were mapped. */
unsigned gpu_grant_count(const struct gpu_grant_file *file);
unsigned gpu_want_count(const struct gpu_want_file *file);
void gpu_grant_unmap(struct gpu_grant_file *file);
void gpu_want_unmap(struct gpu_want_file *file);
