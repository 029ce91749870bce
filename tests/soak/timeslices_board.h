/* SPDX-License-Identifier: Apache-2.0 */
/* What the workers of the soak of time slices tell it: one file that all have mapped. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BOARD_WORKERS = 4 };

struct board {
        _Atomic uint32_t holder;  /* worker that has the token, + 1 */
        _Atomic uint32_t doubles; /* times that somebody else had it too */
        struct {
                _Atomic bool is_killed;
                _Atomic uint64_t lapses; /* of its time slices when it took the token */
                _Atomic uint64_t work;   /* pieces done */
                _Atomic uint64_t alone;  /* time slices without an arbiter */
        } workers[BOARD_WORKERS];
};

/* Begins and ends time slices on device 0 of the share in VGPU_SHARE for ever. */
int timeslices_worker(struct board *board, unsigned index);
