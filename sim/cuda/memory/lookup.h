/* SPDX-License-Identifier: Apache-2.0 */
/* Which allocation lies at an address. */
#pragma once

#include "memory_allocation.h"

/* The allocation that contains the address, or NULL. Arrays are not found by address. */
struct allocation *memory_find(CUdeviceptr address);

/* A range of the program's own, which memory_find() finds from now on: a copy of it.
 * HOST_MEMORY_ALREADY_REGISTERED: it overlaps another. */
CUresult registered_add(const struct allocation *range);
/* The one that memory_find() found. */
void registered_remove(const struct allocation *range);
/* The context goes: what was registered in it is no longer. */
void registered_context_done(struct context *context);
