/* SPDX-License-Identifier: Apache-2.0 */
/* Has the host used this memory? Managed memory is mapped twice: the program's address and the one
 * the simulator works with. Taking the program's pages out of the page table costs it no more than a
 * soft fault at its next access, and that access, also one inside a system call, puts them back:
 * the page table remembers. No signal handler, no privilege, and nothing that a program could see. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cuda_types.h"

/* From now on the host has not used the range. False: it cannot be known of this memory. */
bool host_touch_reset(CUdeviceptr address, size_t count);

/* The page table, to be closed; negative: the kernel does not let us. */
int host_touch_open(void);
/* The first address of the range that the host has used since its reset; 0: none. */
CUdeviceptr host_touch_find(int pagemap, CUdeviceptr from, CUdeviceptr end);
