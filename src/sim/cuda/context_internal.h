/* Making and ending contexts: for the calls that do. */
#pragma once

#include "context.h"

/* An object without anything on the card. */
struct context *context_alloc(struct device *device, unsigned flags);
/* Charges it to the card and makes it usable; `bytes` for the context itself. */
CUresult context_activate(struct context *context, uint64_t bytes);
/* Waits for its work and frees all it held. A primary context can be activated again. */
void context_end(struct context *context);
/* What a whole context takes on this device. */
uint64_t context_bytes(const struct device *device);
CUresult context_set_limit(struct context *context, CUlimit limit, size_t value);
