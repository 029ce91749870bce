/* SPDX-License-Identifier: Apache-2.0 */
/* region_check: does the region still make sense? A tenant can delete its region or write into it;
 * then it is no longer what its processes hold. */
#pragma once

#include "region.h"

enum region_fault {
        REGION_INTACT,
        REGION_DELETED,   /* there is no file at the path */
        REGION_REPLACED,  /* there is another one */
        REGION_OVERWROTE, /* our own part is not what we wrote */
        REGION_UNEVEN,    /* a device's word is not the sum of its processes */
};

/* "… was deleted": what is wrong, after the region's path. */
const char *region_fault_text(enum region_fault fault);

/* Is the file at the path the one that is mapped? */
enum region_fault region_check_file(const struct region *region, const char *path);
/* Is our part what we wrote? Threads may be at work. */
enum region_fault region_check_own(struct region *region);
/* Do the charges of a device add up? Nobody is stopped for it; wherever a process is stopped or killed,
 * charges that were not written by hand add up. */
enum region_fault region_check_sum(const struct region *region, unsigned device);
/* For one who only reads: what a process has found, else whether all charges add up. How long that takes is
 * in the hands of whoever writes it: what was not read when the clock (clock_now_ns) says until_ns is not
 * found at fault. */
enum region_fault region_check_all(const struct region *region, uint64_t until_ns);
