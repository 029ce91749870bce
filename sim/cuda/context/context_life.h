/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a context: for the calls that make and end one. */
#pragma once

#include "context.h"

/* Charges it to the GPU and makes it usable; `bytes` for the context itself. */
CUresult context_activate(struct context *context, uint64_t bytes);
/* Waits for its work and frees all it held. A primary context can be activated again. */
void context_end(struct context *context);
/* What a whole context takes on this device. */
uint64_t context_bytes(const struct device *device);
/* The device's primary context: one object for the life of the process, active or not. NULL: no
 * memory for it. */
struct context *context_primary(struct device *device);
CUresult context_set_limit(struct context *context, CUlimit limit, size_t value);
