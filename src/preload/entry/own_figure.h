/* own_figure: what the driver itself says this process holds on a device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: the driver does not say (no NVML, or it does not know the process by a pid of ours). */
bool own_figure(int ordinal, uint64_t *ret_bytes);
