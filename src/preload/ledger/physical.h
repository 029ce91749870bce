/* SPDX-License-Identifier: Apache-2.0 */
/* physical: allocations that live by handles and by mappings. */
#pragma once

#include "ledger.h"

/* A new allocation under its first handle. */
void physical_add(struct charge *charge, uint64_t handle);
/* The allocation mapped at the address has got this handle (again). */
void physical_retain(uint64_t handle, uint64_t address);
void physical_map(uint64_t handle, uint64_t address, uint64_t bytes);
void physical_unmap(uint64_t address, uint64_t bytes);
void physical_release(uint64_t handle);
