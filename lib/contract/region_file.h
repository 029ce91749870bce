/* SPDX-License-Identifier: Apache-2.0 */
/* region_file: the file of a region, and the blocks of what its processes write to. The file is sparse: with room
 * for thousands of processes, of which few come. */
#pragma once

#include "region.h"

/* Is this process in the namespaces of those who use the region? From others it would take the living for dead, and
 * be taken for dead. -EXDEV: it is not. */
int region_file_namespaces(const struct region *region);

/* Gives the slot its blocks. -ENOSPC, -EDQUOT: there are none. Where the file is not at its path any more, as for
 * a program that has another root by now, nothing is done. */
int region_file_slot(const struct region *region, uint32_t slot);
