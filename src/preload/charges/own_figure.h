/* SPDX-License-Identifier: Apache-2.0 */
/* own_figure: what the driver itself says this process holds on a device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"

/* False: the driver does not say (no NVML), or our pid in its list is not known. */
bool own_figure(int ordinal, uint64_t *ret_bytes);

/* All who are on the device, by the driver's pids, as many as fit (*count). */
bool own_figure_list(int ordinal, struct identity_entry *entries, unsigned *count);
