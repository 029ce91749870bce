/* SPDX-License-Identifier: Apache-2.0 */
/* pool_charge: what memory pools keep is held, whether a program uses it or not. */
#pragma once

#include "gate_memory.h"

enum { POOL_ON_HOST = -2, POOL_UNKNOWN = -3 }; /* instead of a device's number */

/* A pool that the program made, on this device (CUDA's number). */
void pool_charge_new(CUmemoryPool pool, int ordinal);
/* Its device: the one it was made for, or whose own pool it is; POOL_UNKNOWN: imported. */
int pool_charge_ordinal(CUmemoryPool pool);

/* After an allocation from the pool: the charge becomes what the pool has grown by. OUT_OF_MEMORY:
 * it grew past the limit; the caller frees what it got. */
CUresult pool_charge_grow(struct charge *charge, CUmemoryPool pool, int ordinal,
                          CUdeviceptr address, size_t bytes);
/* Has the stream freed so much in one piece that the driver will serve it from there, and the pool not
 * grow? Asked before a refusal; it stays true while the caller is alone (presence_lock). */
bool pool_charge_has_freed(CUmemoryPool pool, CUstream stream, size_t bytes);
/* The address came from a pool: its pool is queried again. False: it did not. */
bool pool_charge_freed(CUdeviceptr address);
/* Around a driver call that frees the address. Its note is taken out before: once the driver has the
 * address back, another thread may get it and note it anew. `stream`: in whose order it was freed; NULL: in
 * none's. */
void pool_charge_free_begin(CUdeviceptr address, struct holding *ret_note);
CUresult pool_charge_free_end(CUresult result, const struct holding *note, const CUstream *stream);
/* The pool is queried again: what it gave back to the GPU is given back to the limit. */
void pool_charge_refresh(CUmemoryPool pool);
/* The same for all; true: something was given back. */
bool pool_charge_refresh_all(void);
/* What the device's pools hold now, as the driver says. */
uint64_t pool_charge_reserved(int ordinal);
/* The same after asking them to give back what nobody uses, as the driver does when a GPU is full. */
bool pool_charge_trim(void);
void pool_charge_destroy(CUmemoryPool pool);
