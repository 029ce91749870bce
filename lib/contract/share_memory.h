/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a share as options ask for it: a limit, and virtual memory beyond the GPU's part. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "share_layout.h"

enum share_tristate { SHARE_UNSET, SHARE_YES, SHARE_NO };

struct share_memory {
        uint64_t bytes;      /* 0: not said, in these three */
        double ratio;        /* of all its memory to the part on the GPU */
        uint64_t host_bytes; /* how far it is oversold */
        enum share_tristate is_oversold;
};

/* The values of --memory, --memory-ratio and --oversold-host-memory. */
int share_memory_size(const char *text, struct share_memory *memory, struct err *e);
int share_memory_ratio(const char *text, struct share_memory *memory, struct err *e);
int share_memory_host(const char *text, struct share_memory *memory, struct err *e);

/* True: an option sets memory. */
bool share_memory_is_said(const struct share_memory *memory);

/* Writes it into a device of a share; values without an option stay unchanged. A new device has
 * SHARE_UNLIMITED of everything. If the device has the GPU's size, this is the limit of a share
 * without one, and the default of the host memory of an oversold share. */
void share_memory_put(const struct share_memory *memory, struct share_device *device);

/* All that the device may hold, on the GPU and on the host. */
uint64_t share_memory_whole(const struct share_device *device);

enum { SHARE_EXCESS_TEXT = 128 };
/* Whether the device's part is more than the GPU has, so that it limits nothing; and the words for it, which follow
 * the name of the limit. */
bool share_memory_excess(const struct share_device *device, unsigned gpu,
                         char ret_text[static SHARE_EXCESS_TEXT]);

/* The ratio that a device of a share has. */
double share_memory_ratio_of(const struct share_device *device);
