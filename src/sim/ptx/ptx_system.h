/* Functions every device has: printf, malloc, free, assert. */
#pragma once

#include "ptx_warp.h"

enum system_kind { SYSTEM_NONE, SYSTEM_PRINTF, SYSTEM_MALLOC, SYSTEM_FREE, SYSTEM_ASSERT };

uint32_t system_find(const char *name); /* SYSTEM_NONE when it is not one */
void system_call(struct warp *w, const struct insn *i, uint32_t kind);
