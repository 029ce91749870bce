/* SPDX-License-Identifier: Apache-2.0 */
/* stream_end: handles of streams that were destroyed, and may be other streams' by now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload_cuda.h"

/* Before a stream is destroyed. */
void stream_end_note(CUstream stream);
/* How many were so far. */
uint64_t stream_end_count(void);
/* Is this handle certain to be the same stream's as when there were so many? */
bool stream_end_spared(CUstream stream, uint64_t since);
