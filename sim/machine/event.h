/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to GPUs: Xid and ECC events, loss, faults on demand. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* Posts an event (an nvmlEventType bit, its Xid) and wakes those who wait. */
void event_post(struct machine *machine, unsigned gpu, uint64_t type, uint64_t detail);
/* The first event after *cursor that concerns `types[gpu]`; moves the cursor. -ETIMEDOUT. */
int event_wait(struct machine *machine, const uint64_t types[MACHINE_GPUS], uint64_t *cursor,
               int timeout_ms, struct machine_event *ret_event);

/* A call of this name fails `times` (UINT32_MAX: until cleared) with `result`; "*" is every call. */
int fault_fail(struct machine *machine, const char *function, int32_t result, uint32_t times);
/* Calls of this name do not return until cleared. */
int fault_hang(struct machine *machine, const char *function);
void fault_clear(struct machine *machine);
/* Asked by every call while `attention` is set. True: return *ret_result. May sleep (a hang). */
bool fault_strikes(struct machine *machine, const char *function, int32_t *ret_result);

void gpu_lose(struct machine *machine, unsigned gpu);
void gpu_restore(struct machine *machine, unsigned gpu);
