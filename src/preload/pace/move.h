/* SPDX-License-Identifier: Apache-2.0 */
/* move: copies and fills, where they count as compute: they wait and are charged as launches are. Their
 * hooks are written by generate.py, from the rows of the table that say `moves`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "batch.h"
#include "limits_compute.h"

/* Waits until so many bytes may be moved in the stream, by this function of the driver. */
void move_admit(CUstream stream, const void *real, uint64_t bytes, struct admission *ret_admission);

/* What a batch moves in all. */
uint64_t move_batch(const size_t *sizes, size_t count);
uint64_t move_3d_batch(const CUDA_MEMCPY3D_BATCH_OP *copies, size_t count);
