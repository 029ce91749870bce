/* SPDX-License-Identifier: Apache-2.0 */
/* webhook_calls: the system calls of vgpu-webhook. It has no capability. */
#pragma once

#include "confinement.h"

extern const struct confinement webhook_confinement;
