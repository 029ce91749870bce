/* SPDX-License-Identifier: Apache-2.0 */
/* Functions every device has: printf, malloc, free, assert. */
#pragma once

#include "ptx_warp.h"

void system_call(struct warp *w, const struct insn *i, uint32_t kind);
