/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_calls: the system calls of vgpu-scheduler. It has no capability. */
#pragma once

#include "confinement.h"

extern const struct confinement scheduler_confinement;
