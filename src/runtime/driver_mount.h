/* SPDX-License-Identifier: Apache-2.0 */
/* driver_mount: mounts of a container's configuration that bring a GPU or its driver in, told from those that
 * its user asked for. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* A device node of a GPU, by its path. */
bool driver_mount_is_node(const char *path);

/* What the mount brings, in words; NULL: it is none of the driver's, and stays. */
const char *driver_mount_kind(const json_t *mount);
