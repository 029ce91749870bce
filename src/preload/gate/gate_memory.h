/* SPDX-License-Identifier: Apache-2.0 */
/* The memory gate: may the container hold this much more? */
#pragma once

#include <stddef.h>

#include "cuda_prototypes.h"
#include "ledger.h"

/* Sets aside what the driver will take for a request of this size on the device. Between
 * this and the settlement the thread counts as inside (presence.h).
 * OUT_OF_MEMORY: it does not fit, or the share does not name the device (device_index < 0). */
CUresult gate_memory_admit(int device_index, uint64_t context, size_t bytes,
                           struct charge *ret_charge);

/* The same in silence, for a caller that has another way, and leaving a little of the GPU to those who
 * have none. The last of its ways is gate_memory_refuse(), which says what is held and answers
 * OUT_OF_MEMORY. */
CUresult gate_memory_try(int device_index, uint64_t context, size_t bytes,
                         struct charge *ret_charge);
CUresult gate_memory_refuse(int device_index, size_t bytes);

/* What the driver takes from the GPU for a request of this size. */
uint64_t gate_memory_granules(size_t bytes);
/* Sets bytes of the GPU aside. -ENOMEM counts nobody who has been dead for a millisecond, nor what
 * another process has in hand only while it measures. */
int gate_memory_reserve(unsigned device_index, uint64_t bytes, uint64_t limit_bytes,
                        struct charge *ret_charge);

/* Asked before a refusal: may give something back that the driver no longer holds. */
void gate_memory_on_refusal(bool (*relieve)(void));
/* From now on there may be something: before, a refusal does not ask. */
void gate_memory_has_relief(void);
bool gate_memory_relieve(void);

/* Compares the device's charges with the driver's own figure; true: something was given back. Called when no call of
 * this thread is between a charge and its settlement. */
void gate_memory_compare_by(bool (*compare)(unsigned device_index));

/* After the driver's answer: keeps the charge under the address, or gives it back. */
void gate_memory_settle(struct charge *charge, CUresult result, CUdeviceptr address);

/* Gives a charge back after the driver failed, and says so where that was for want of memory. */
void gate_memory_give_back(struct charge *charge, CUresult result);

/* The same for memory of another kind, always charged by itself. */
void gate_memory_settle_as(struct charge *charge, CUresult result, CUdeviceptr address,
                           enum holding_kind kind);

/* What the container sees of its device. */
uint64_t gate_memory_total(int device_index, uint64_t real_bytes);
uint64_t gate_memory_free(int device_index, uint64_t total_bytes);
