/* SPDX-License-Identifier: Apache-2.0 */
/* share_decided: the limits that were decided for a container when its share was made, kept beside the share.
 * What it has beyond them is growth; what it has less is still set aside for it. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "share.h"

struct share_decided { /* of one device */
        uint64_t limit_bytes;
        uint32_t cores_percent;
        uint32_t checksum; /* 0: of a release that wrote none */
};

/* The rows of a share that is being made at the path. */
int share_decided_write(const char *path, const struct share_copy *copy, struct err *e);
/* The rows of the share at the path, for the caller to free. NULL: there are none, not as many as devices, or they are
 * damaged. 0, or what passes (file_error_passes()). */
int share_decided_read(const char *path, unsigned device_count, struct share_decided **ret_rows);
