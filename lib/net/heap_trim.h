/* SPDX-License-Identifier: Apache-2.0 */
/* heap_trim: gives memory that was freed back to the system, every few seconds. The C library keeps it otherwise, and
 * a daemon stays as large as its worst moment made it. */
#pragma once

#include "loop.h"

struct heap_trim {
        struct timer timer;
        struct loop *loop;
};

void heap_trim_start(struct loop *loop, struct heap_trim *trim);
void heap_trim_stop(struct heap_trim *trim);
