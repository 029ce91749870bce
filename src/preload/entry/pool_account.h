/* pool_account: what memory pools keep is held, whether a program uses it or not. */
#pragma once

#include "gate_memory.h"

enum { POOL_ON_HOST = -2 };             /* instead of an account: nothing to charge */

/* A pool that the program made, on the device of this account. */
void pool_account_new(CUmemoryPool pool, int account);
/* Its account; `otherwise` for a device's own pool, which nobody made. */
int pool_account_of(CUmemoryPool pool, int otherwise);
bool pool_account_is_host(CUmemoryPool pool);

/* After an allocation from the pool: the charge becomes what the pool has grown by. OUT_OF_MEMORY:
 * it grew past the limit; the caller frees what it got. */
CUresult pool_account_grow(struct charge *charge, CUmemoryPool pool, CUdeviceptr address);
/* The address came from a pool: its pool is looked at again. False: it did not. */
bool pool_account_freed(CUdeviceptr address);
/* Around a driver call that frees the address. Its note is taken out before: once the driver has the
 * address back, another thread may get it and note it anew. */
void pool_account_free_begin(CUdeviceptr address, struct holding *ret_note);
CUresult pool_account_free_end(CUresult result, const struct holding *note);
/* The pool is looked at again: what it gave back to the card is given back to the limit. */
void pool_account_refresh(CUmemoryPool pool);
/* The same for all; true: something was given back. */
bool pool_account_refresh_all(void);
void pool_account_destroy(CUmemoryPool pool);
