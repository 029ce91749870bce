/* SPDX-License-Identifier: Apache-2.0 */
/* measure: calls that take memory of a size only the driver knows: contexts, modules, heaps. */
#pragma once

#include "gate_memory.h"

struct measure {
        int ordinal;
        int device_index;
        uint64_t before_bytes;
        uint64_t taken_bytes;                  /* the answer */
        uint64_t least_bytes;                  /* known to be needed */
        const _Atomic uint64_t *context_bytes; /* of a context: what the last one took */
        bool is_active;                        /* false: nothing to charge */
        bool is_watched;                       /* the driver's list is to tell who we are */
        struct charge charge;
};

/* Sets all that is left of the limit aside and notes the driver's figure. `least_bytes`: known to be
 * needed. OUT_OF_MEMORY: that is not there. */
CUresult measure_begin(struct measure *measure, int ordinal, uint64_t least_bytes);
/* The same for a context, which needs what the last one took. The first one puts the process into the
 * driver's list. */
CUresult measure_begin_context(struct measure *measure, int ordinal,
                               const _Atomic uint64_t *context_bytes);

/* A context that does not count: nothing is set aside, but the driver's list is to tell who we are. */
void measure_watch(struct measure *measure, int ordinal);

/* After the driver's answer: what it took is kept under the key (in `context`), with what is held there
 * already; the remainder is given back.
 * OUT_OF_MEMORY: it took more than there was; the caller undoes the call and releases the key. */
CUresult measure_end(struct measure *measure, CUresult result, uint64_t key, uint64_t context,
                     enum holding_kind kind);
