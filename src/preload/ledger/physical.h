/* SPDX-License-Identifier: Apache-2.0 */
/* physical: allocations that live by handles and by mappings. */
#pragma once

#include "export_range.h"
#include "ledger.h"

/* A new allocation under its first handle. */
void physical_add(struct charge *charge, uint64_t handle);
/* A handle for other processes was made of it: this descriptor. */
void physical_export(uint64_t handle, int fd);
/* Another process's, by this descriptor, which stands for the range. What the charge has set aside for it is
 * kept until it is released and unmapped. */
void physical_import(const struct charge *charge, uint64_t handle, struct export_range range,
                     int fd);
/* The allocation mapped at the address has got this handle (again). */
void physical_retain(uint64_t handle, uint64_t address);
void physical_map(uint64_t handle, uint64_t address, uint64_t bytes);
void physical_unmap(uint64_t address, uint64_t bytes);
void physical_release(uint64_t handle);
