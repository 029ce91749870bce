/* SPDX-License-Identifier: Apache-2.0 */
/* Contents in a file, so that another process can have them too. */
#pragma once

#include "arena.h"

/* Moves the contents of a run into the file, which is large enough, and maps it instead of them.
 * 0 or a negative errno; on failure nothing has changed. */
int shared_make(struct piece *run, int fd);
/* Maps the file instead of a new run's contents. */
int shared_map(struct piece *run, int fd);
/* Puts private memory back. */
void shared_unmap(struct piece *run);
