/* SPDX-License-Identifier: Apache-2.0 */
/* file_allocate: files that are written to through a mapping. Without a block on the disk for it, such a write
 * ends the process (SIGBUS): so each part has its blocks before it is mapped or touched. */
#pragma once

#include <stdint.h>

/* Gives these bytes of the file their blocks; the file grows if it is shorter. -ENOSPC, -EDQUOT: the file system
 * is full; -EFBIG: the process may not make files that large, and gets no signal for it. Where the file system
 * cannot be asked, the file grows alone. */
int file_allocate(int fd, uint64_t offset, uint64_t bytes);

/* Makes the file that long, without blocks. -EFBIG as above. */
int file_extend(int fd, uint64_t bytes);
