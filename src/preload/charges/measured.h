/* SPDX-License-Identifier: Apache-2.0 */
/* measured: objects of unknown size in the current context: modules, arrays. Small ones lie together in
 * blocks of the driver's, so that one may take a block and another one's end give it back: what all of
 * a kind take in a context is one sum, moved by what the driver takes and gives. */
#pragma once

#include "devices.h"
#include "measure.h"

/* Begins making one; `least_bytes` are known to be needed. A call without a context is the driver's to
 * refuse: `ret_target->context` is 0 then and nothing is measured. */
CUresult measured_begin(struct measure *measure, uint64_t least_bytes, struct target *ret_target);
/* The same where the object itself takes so much: some of it may lie in what others of the kind left. */
CUresult measured_begin_object(struct measure *measure, uint64_t object_bytes,
                               enum holding_kind kind, struct target *ret_target);

/* Ends it: the object is known by its handle. `undo` takes it back if it does not fit. */
CUresult measured_end(struct measure *measure, const struct target *target, CUresult result,
                      const void *handle, enum holding_kind kind,
                      CUresult (*undo)(const void *handle));

/* Around the driver call that destroys it. */
struct measured_gift {
        struct holding note; /* key 0: not one of ours */
        uint64_t before_bytes;
        bool is_known;
};
void measured_give_begin(struct measured_gift *gift, const void *handle);
CUresult measured_give_end(const struct measured_gift *gift, CUresult result);
