/* own_figure: what the driver itself says this process holds on a device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: the driver does not say (no NVML), or our pid in its list is not known. */
bool own_figure(int ordinal, uint64_t *ret_bytes);

/* The driver's pids of all who are on the device, as many as there is room for (*count). */
bool own_figure_pids(int ordinal, unsigned *pids, unsigned *count);
