/* SPDX-License-Identifier: Apache-2.0 */
/* entry: the door of a simulated library: every exported function passes here before its body.
 *
 * A quiet call costs two loads and a branch. Everything that is not a plain call (before
 * initialisation, the call log, strict mode, after fork, faults on demand) is behind that branch. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ENTRY_GO (-1) /* entry_begin: run the body */

enum entry_bit {
        ENTRY_NOT_INITIALISED = 1 << 0,
        ENTRY_LOG = 1 << 1,
        ENTRY_STRICT = 1 << 2,
        ENTRY_FORKED = 1 << 3,
};

struct entry_machine;

struct entry {
        _Atomic uint32_t local;                      /* enum entry_bit */
        const _Atomic uint32_t *_Atomic shared;      /* the machine's attention word */
        const struct entry_machine *_Atomic machine; /* NULL: not attached */
};

/* One row per function and what the library as a whole answers; the generator writes both. */
struct entry_function {
        const char *name;
        const char *family;
        int preinit; /* the answer before initialisation when all arguments are zero */
        bool is_early;
        bool is_in_535;
};

struct entry_library {
        const struct entry_function *functions;
        unsigned function_count;
        int not_initialised; /* result codes of this library */
        int not_supported;
        int forked; /* ENTRY_GO: works after fork */
};

/* What the machine adds once it is attached; any member may be NULL. */
struct entry_machine {
        const _Atomic uint32_t *attention; /* not 0: ask fault() */
        /* True: the call must not run and answers *ret_result instead. */
        bool (*fault)(const char *function, int *ret_result);
        /* A function that is not simulated was called. */
        void (*unsupported)(const char *function);
        /* May the process change what all others meet? */
        bool (*is_admin)(void);
};

extern struct entry entry;
extern const struct entry_library entry_library;

/* Set while the call came in through a per-thread default stream twin without a stream parameter:
 * the NULL stream is then CU_STREAM_PER_THREAD. */
extern _Thread_local bool entry_per_thread_default;

static inline bool entry_is_quiet(void)
{
        const _Atomic uint32_t *shared = atomic_load_explicit(&entry.shared, memory_order_relaxed);

        return !(atomic_load_explicit(&entry.local, memory_order_relaxed) |
                 atomic_load_explicit(shared, memory_order_relaxed));
}

/* True in the child of a process that had initialised: cuInit must refuse, like all others. */
static inline bool entry_is_forked(void)
{
        return atomic_load_explicit(&entry.local, memory_order_relaxed) & ENTRY_FORKED;
}

/* ENTRY_GO, or the result to answer without running the body. */
int entry_begin(unsigned function, bool are_arguments_zero);
int entry_end(unsigned function, int result); /* returns result */
void entry_note(unsigned function);           /* for a function that returns no result code */
int entry_unsupported(unsigned function);     /* the body of what is not simulated */
bool entry_is_admin(void);

/* cuInit and nvmlInit say true, the last nvmlShutdown says false. */
void entry_set_initialised(bool is_initialised);
void entry_attach(const struct entry_machine *machine); /* kept by reference; NULL detaches */
