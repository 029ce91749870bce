/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that the driver knows: allocated by it, or registered. */
#pragma once

#include "memory.h"

/* The registered range that contains the address, or NULL. */
struct allocation *host_find(CUdeviceptr address);
/* The context goes: what was registered in it is no longer. */
void host_context_done(struct context *context);
