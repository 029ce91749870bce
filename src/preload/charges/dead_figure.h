/* SPDX-License-Identifier: Apache-2.0 */
/* dead_figure: of which dead processes of the container the driver still holds memory, and others by exports. */
#pragma once

#include "region.h"

/* By NVML's lists of processes. Where there is no NVML, or a process's pid there is not known, the driver is
 * taken to hold nothing. */
extern const struct region_driver dead_figure;
