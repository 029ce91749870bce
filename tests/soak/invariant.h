/* SPDX-License-Identifier: Apache-2.0 */
/* invariant: what the GPU did for a container is charged to it, over any second, but for one launch per process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"
#include "region.h"

enum { INVARIANT_LIVES = 8192, INVARIANT_SAMPLES = 32768, INVARIANT_TEXT = 512 };

/* How a process ends. */
enum invariant_end {
        END_KILLED,     /* works until somebody kills it */
        END_CONTEXTS,   /* the same, with a context of its own for each pass */
        END_CHROOT,     /* the same, in another root */
        END_EXIT,       /* exit() in the middle of its words */
        END_QUICK,      /* _exit() behind them, with all of it in flight */
        END_SLEEP,      /* exit() after a sleep, never having looked */
        END_ABORT,      /* abort() */
        END_THREAD,     /* a thread of its did the work and is gone; then exit() */
        END_FORK,       /* leaves a child behind that does nothing */
        END_EXEC,       /* becomes the same program anew, which works until it is killed */
        END_EXEC_OTHER, /* becomes a program that uses no GPU */
        INVARIANT_ENDS,
};
const char *invariant_end_name(enum invariant_end end);
/* Somebody else has to end it. */
bool invariant_end_waits(enum invariant_end end);

/* The process: does the words of the shape, and ends so. */
_Noreturn void invariant_live(const char *shape, enum invariant_end end, unsigned seed);
/* Words put together at random. */
void invariant_shape(unsigned *seed, char ret_text[INVARIANT_TEXT]);

/* One process, as it was seen from outside. */
struct invariant_life {
        uint64_t begin_ns, end_ns; /* end 0: not yet */
        uint64_t longest_ns;       /* its longest launch */
        unsigned programs;         /* that it was, one after another */
        bool was_stopped;          /* it could not see what the GPU went on with */
};

struct invariant_sample {
        uint64_t at_ns;
        uint64_t done_ns;    /* the GPU's own counter: the container has it to itself */
        uint64_t charged_ns; /* the region's */
};

/* A container and its GPU. */
struct invariant_watch {
        struct machine machine;
        struct region region;
        struct invariant_sample samples[INVARIANT_SAMPLES];
        unsigned sample_count;
        struct invariant_life lives[INVARIANT_LIVES];
        unsigned life_count;
};

void invariant_sample(struct invariant_watch *watch);

struct invariant_verdict {
        unsigned windows;     /* of a second */
        int64_t worst_ns;     /* beyond one launch per process, of all windows; ≤ 0: none */
        uint64_t worst_at_ns; /* since the first sample */
        uint64_t done_ns, charged_ns; /* in all */
        uint64_t allowed_ns;          /* that may be missing in all: what nobody could have seen */
        uint64_t late_ns;             /* between two looks, at most, beyond what was asked for */
};
void invariant_judge(const struct invariant_watch *watch, struct invariant_verdict *ret_verdict);
