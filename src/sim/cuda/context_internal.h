/* Making and ending contexts: for the calls that do. */
#pragma once

#include "context.h"

/* A context charged to the card; not current anywhere yet. */
CUresult context_new(struct device *device, unsigned flags, struct context **ret_context);
/* Waits for its work and frees all it held. */
void context_end(struct context *context);
CUresult context_set_limit(struct context *context, CUlimit limit, size_t value);
