/* SPDX-License-Identifier: Apache-2.0 */
/* guard: mapped files that another process may truncate. A read beyond the end would end the process
 * (SIGBUS); under guard it reads a page of zeroes instead. */
#pragma once

#include <stddef.h>

/* Takes the program's handler of SIGBUS, which no thread that looks may have blocked. -ENOSPC: so
 * many are guarded (thousands) that this one is not: it must not be looked at. */
int guard_add(void *mapping, size_t bytes);
void guard_remove(void *mapping);

/* Between these, this thread may look at mappings that it could not add yet. */
void guard_open_begin(void);
void guard_open_end(void);
