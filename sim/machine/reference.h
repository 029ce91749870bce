/* SPDX-License-Identifier: Apache-2.0 */
/* References to exported memory, which lives as long as there is one: a handle that programs pass on as a
 * file descriptor, or an import. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

/* A new one to the EXPORT_HANDLE row of this number: a descriptor, or a negative errno. It lasts until its
 * last duplicate is closed, wherever that is: in another process, or on its way to one. */
int reference_new(const struct machine *machine, uint32_t index, uint64_t number);
/* Which row a descriptor refers to; the copy is right while the descriptor is open. -EINVAL: none. */
int reference_row(const struct machine *machine, int fd, uint32_t *ret_index,
                  struct machine_export *ret_row);
bool reference_is_held(const struct machine *machine, uint32_t index, uint64_t number);
