/* SPDX-License-Identifier: Apache-2.0 */
/* timeslice: this process's part in the time slices that the arbiter gives its container on a device.
 *
 * A thread that needs credit (batch.h) first needs the time slice. A keeper, one thread per device, ends it:
 * at its deadline, when it is recalled, and when there has been nothing to do for a while and others
 * wait. It sleeps while the device is ours alone. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload_cuda.h"

/* Changes when a time slice ends: credits of earlier ones are void. Read on every launch. */
extern _Atomic uint32_t timeslice_number;

/* Waits until more work may be submitted to the stream behind what is in flight. Where others had the
 * device and memory is short, what they pushed out is brought back first (swap.h). */
void timeslice_take(unsigned device_index, CUstream stream, uint64_t in_flight_ns);

/* In a forked child. */
void timeslice_forked(void);
