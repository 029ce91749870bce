/* SPDX-License-Identifier: Apache-2.0 */
/* A block at work: its warps run round robin until all have exited. */
#pragma once

#include "ptx_warp.h"

enum block_state { BLOCK_DONE, BLOCK_RUNNING, BLOCK_STUCK };

struct block *block_new(struct run *run); /* NULL: out of memory */
void block_free(struct block *block);
void block_start(struct block *block, struct worker *worker, uint64_t linear);
enum block_state block_step(struct block *block);
uint64_t block_clock(const struct block *block); /* what its threads' clock reads added, ns */

/* bar.sync and relatives; expected 0 = every live thread. */
void block_arrive(struct warp *w, uint32_t id, uint32_t expected, uint32_t ones, bool is_waiting);
