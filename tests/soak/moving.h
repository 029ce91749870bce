/* SPDX-License-Identifier: Apache-2.0 */
/* moving: containers whose memory moves, with processes that are killed and stopped. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MIB (UINT64_C(1) << 20)

/* Two processes each. */
enum { MOVING_SHARES = 3, MOVING_PROCESSES = 2 * MOVING_SHARES };

/* What the processes tell: one file that all have mapped. */
struct moving_board {
        struct {
                _Atomic uint64_t work;  /* passes done, of all that were this process */
                _Atomic uint64_t lost;  /* blocks that lost their contents */
                _Atomic uint64_t wrong; /* other answers of the driver */
        } processes[MOVING_PROCESSES];
};

enum moving_kind { MOVING_DEVICE, MOVING_MANAGED, MOVING_MIXED };

/* Holds so many blocks, and uses some of them, always others, until it is killed. Returns where it could not begin. */
int moving_work(struct moving_board *board, unsigned index, enum moving_kind kind, unsigned blocks,
                unsigned seed);
enum { MOVING_BLOCK_MIB = 16 };
