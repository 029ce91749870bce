/* SPDX-License-Identifier: Apache-2.0 */
/* virtual: managed memory in place of device memory, for shares that have more memory than the
 * GPU gives them. What a program gets this way it takes for device memory. */
#pragma once

#include "devices.h"
#include "ledger.h"
#include "virtual_range.h"

/* Device memory that does not fit the GPU. OUT_OF_MEMORY: it does not fit, or the share has no
 * virtual memory. */
CUresult virtual_alloc(const struct target *target, size_t bytes, CUdeviceptr *ret_address);
/* Device memory that can move: managed memory, all of it charged to the GPU and preferring it. Where a share has
 * virtual memory and an arbiter, its large allocations are such, because what other containers need in their time
 * slices could not come onto the GPU otherwise. NOT_SUPPORTED: this one is not, the caller asks the driver for
 * device memory. OUT_OF_MEMORY: it does not fit the GPU's part. */
CUresult virtual_alloc_movable(const struct target *target, size_t bytes, CUdeviceptr *ret_address);
/* Managed memory that the program asked for by name, and which does not fit the GPU as a whole. */
CUresult virtual_alloc_managed(const struct target *target, size_t bytes, unsigned flags,
                               CUdeviceptr *ret_address);
/* Are there other GPUs with limits? Then managed memory must stay on the one that is charged for it: */
bool virtual_has_rivals(int ordinal);
/* the program's own managed memory, charged to the GPU, is kept there, where the others reach it. Also where there is
 * virtual memory beside it, which it may trade places with. */
bool virtual_keeps(const struct target *target);
/* Takes the charge over. OUT_OF_MEMORY: it could not be noted; the caller frees it. */
CUresult virtual_keep(const struct target *target, struct charge *charge, size_t bytes,
                      CUdeviceptr address);
/* Stream-ordered memory of the device's own pool. What another stream has freed is used again after
 * it, without a wait on the host. */
CUresult virtual_alloc_async(const struct target *target, size_t bytes, CUmemoryPool pool,
                             CUstream stream, CUdeviceptr *ret_address);

/* True: the address is virtual memory's, and *ret_result is the answer. */
bool virtual_free(cuMemFree_v2_fn *real, CUdeviceptr address, CUresult *ret_result);
/* The same in the order of a stream: it is held, and charged, until the stream has come so far. */
bool virtual_free_async(CUdeviceptr address, CUstream stream, CUresult *ret_result);

/* Gives back what streams have freed and come past. True: there was something. The caller counts as
 * inside (presence.h). */
bool virtual_reap(void);
