/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's budget for contents, shared by all its processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: there is no more; nothing was taken. */
bool budget_take(uint64_t bytes);
void budget_give(uint64_t bytes);
