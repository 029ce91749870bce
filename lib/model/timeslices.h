/* SPDX-License-Identifier: Apache-2.0 */
/* timeslices: who may use a GPU, and for how long. Pure: time is a parameter, nothing is read or written
 * but the caller's structure; the arbiter (lib/arbiter) and the simulations in the tests drive it.
 *
 * One token. A tenant that holds it is told until when; then it is closed out, drains, and the token
 * goes to the one with the smallest weighted virtual time among those who want it and are not in
 * debt. Where the closed tenant says when its work will be done, the next is told a little earlier, and
 * submits nothing before that: so it is awake by then. The caller repeats
 *     report what each tenant says now → timeslices_step() → tell each tenant what timeslices_grant() says
 * and what it reports must have been read after the tenants were told: a tenant that was closed out
 * and is not active can no longer become so, and only then is the token passed on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TIMESLICES_TENANTS = 1024, TIMESLICES_NOBODY = -1 };
#define TIMESLICES_NEVER UINT64_MAX

enum timeslices_state {
        TIMESLICES_ABSENT,   /* no such tenant */
        TIMESLICES_OUT,      /* waits or is idle */
        TIMESLICES_HOLDER,   /* may submit */
        TIMESLICES_CLOSING,  /* closed out, has work on the GPU: still has the token */
        TIMESLICES_DRAINING, /* closed out; the token was passed on before its work ends, for then */
        TIMESLICES_FREE,     /* no time slices: did not drain in time, or none are needed */
        TIMESLICES_RETURNING, /* closed out after being free; may have work on the GPU, has no token */
};

struct timeslices_limits {
        uint32_t weight;       /* percent that are its own; 0: what the others leave of 100 */
        uint64_t cap_ns_per_s; /* GPU time per second at most; 0: no cap */
        bool is_latency;       /* its waits are kept short */
};

/* What a tenant says. All of it is clamped; nothing it says changes what another has used. */
struct timeslices_report {
        bool wants;              /* waits, or is active */
        bool is_active;          /* may have work on the GPU */
        bool is_draining;        /* active, but submits no more, and done_ns is exact */
        bool has_begun;          /* took up the time slice that it was last given */
        uint64_t signs;          /* changes when it gives a sign of life */
        uint64_t begun_ns;       /* when it last began a time slice; 0: not known */
        uint64_t done_ns;        /* when its work on the GPU should be done; 0: not known */
        uint64_t busy_ns;        /* GPU time so far, as it measured */
        uint64_t observed_ns;    /* the same as the driver says; 0: not known */
        uint64_t resident_bytes; /* what its work touches */
        uint64_t movable_bytes;  /* of that, what others can push off the GPU */
};

struct timeslices_tenant {
        enum timeslices_state state;
        struct timeslices_limits limits;
        uint32_t weight; /* by which its time counts */
        struct timeslices_report report;
        uint32_t number; /* grows with every change of state */
        uint64_t virtual_time;
        int64_t balance_ns;      /* < 0: not before it is paid */
        uint64_t kept_ns;        /* more than a balance holds: earned while others had the GPU */
        uint64_t state_since_ns; /* HOLDER: the time slice began; CLOSING: it was told to drain */
        uint64_t timeslice_since_ns;
        uint64_t deadline_ns; /* HOLDER */
        bool has_begun;       /* took the time slice up */
        bool is_awaited;      /* no time slice for anybody before it has drained */
        bool is_deaf;         /* did not; until it gives a sign, and deaf_until_ns has passed */
        uint32_t untaken;     /* time slices in a row that it did not take up */
        uint64_t deaf_until_ns;
        uint64_t signs_when_deaf, signs_seen;
        uint64_t away_since_ns;     /* it is deaf or FREE since then; 0: it is not */
        uint64_t busy_when_away_ns; /* what it said then */
        uint64_t sign_ns;           /* when the last sign of life was seen */
        uint64_t return_ns;         /* FREE: asked to come back after so long */
        uint64_t promised_ns;       /* DRAINING: when it should be done, it said */
        uint64_t trusted_ns;        /* its promises are, from then on */
        uint64_t
                distrusted_ns; /* until then nobody waits for when its work should be done, it says */
        uint64_t change_ns; /* the GPU idles before its time slices, lately: this host wakes late */
        uint64_t granted_ns, said_done_ns; /* its time slice; the last end of work it told */
        bool is_timed;                     /* for this time slice, that was seen */
        uint64_t busy_when_settled_ns, settled_ns;
        bool was_wanting;   /* at the last step */
        uint64_t wanted_ns; /* last time it wanted; 0: never */
        uint64_t wants_since_ns;
        /* Counters. */
        uint64_t timeslices, held_ns, waited_ns, charged_ns, lapses;
};

struct timeslices {
        int holder;             /* or whoever is CLOSING; TIMESLICES_NOBODY */
        int draining;           /* whoever is DRAINING; TIMESLICES_NOBODY */
        int high;               /* tenants ever used */
        bool is_off;            /* no token at all (MPS) */
        uint64_t clock_ns;      /* the last step */
        uint64_t ended_ns;      /* the last work of the last holder, as far as it said */
        uint64_t virtual_clock; /* of the last one who got a time slice: newcomers begin here */
        uint64_t device_bytes;  /* 0: not known */
        uint64_t resident_bytes, movable_bytes; /* of all tenants, at the last step */
        uint64_t swap_bytes_per_s;              /* how fast memory comes onto the GPU */
        uint64_t swap_ns;                       /* what a change of hands costs now; 0: all fits */
        struct timeslices_tenant tenants[TIMESLICES_TENANTS];
};

/* What a tenant is to be told. */
struct timeslices_grant {
        bool is_open, is_free;
        uint32_t number;
        uint64_t deadline_ns; /* of an open time slice; TIMESLICES_NEVER: none */
        uint64_t quantum_ns;
        uint64_t in_flight_ns;
        uint64_t not_before_ns; /* submit nothing earlier; 0: at once */
        bool is_crowded;        /* resident sets exceed the GPU */
};

void timeslices_init(struct timeslices *timeslices, uint64_t now_ns);
/* The same for storage that is zeroed, of which only what is used is touched. */
void timeslices_init_zeroed(struct timeslices *timeslices, uint64_t now_ns);
/* The tenant's number, or -EUSERS. `may_be_active`: it ran before anybody gave time slices. */
int timeslices_add(struct timeslices *timeslices, const struct timeslices_limits *limits,
                   bool may_be_active, uint64_t now_ns);
void timeslices_remove(struct timeslices *timeslices, int tenant, uint64_t now_ns);
/* A change holds from the next time slice on. */
void timeslices_limit(struct timeslices *timeslices, int tenant,
                      const struct timeslices_limits *limits);
void timeslices_report(struct timeslices *timeslices, int tenant,
                       const struct timeslices_report *report);

/* Moves on to now. Returns when to step again even if nobody says anything; TIMESLICES_NEVER: need not. */
uint64_t timeslices_step(struct timeslices *timeslices, uint64_t now_ns);

struct timeslices_grant timeslices_grant(const struct timeslices *timeslices, int tenant);
uint64_t timeslices_quantum_ns(const struct timeslices *timeslices);
/* True: somebody wants a time slice and has none. */
bool timeslices_is_contended(const struct timeslices *timeslices);
/* What could be pushed off the GPU of the other tenants. */
uint64_t timeslices_others_bytes(const struct timeslices *timeslices, int tenant);
/* True: it is shared, and somebody was given a part of it, or the tenants' memory does not fit together.
 * Otherwise nobody need take time slices. */
bool timeslices_are_needed(const struct timeslices *timeslices);
