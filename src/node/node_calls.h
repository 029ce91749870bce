/* SPDX-License-Identifier: Apache-2.0 */
/* node_calls: the system calls and capabilities of vgpu-node, and of the driver's NVML within it. */
#pragma once

#include <stdbool.h>

#include "confinement.h"

struct confinement node_confinement(bool is_standalone);
