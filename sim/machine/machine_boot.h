/* SPDX-License-Identifier: Apache-2.0 */
/* A machine file outlives a reboot; its clock, locks and processes do not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine_layout.h"

/* Writes what belongs to one boot: epoch, locks, no processes, nothing used. */
void machine_boot_reset(struct machine_file *file);
/* Resets the file if it was last used under another boot. `fd` serves as the lock for that. */
void machine_boot_check(struct machine_file *file, int fd);
/* Whether its clock and locks are of the boot that the host is in. */
bool machine_boot_is_current(const struct machine_header *header);
