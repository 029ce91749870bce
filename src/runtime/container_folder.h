/* SPDX-License-Identifier: Apache-2.0 */
/* container_folder: the folder of what one container is given: made before it starts, removed with
 * it.
 *
 *      STATE/HASH-ID/mounts/           becomes /etc/vgpu in the container: an empty file for each mount there
 *      STATE/HASH-ID/ld.so.preload
 *      STATE/HASH-ID/share, region     of a container that has no agent
 *      STATE/HASH-ID/saved_env         what its programs are told, also those started later
 *      STATE/HASH-ID/root              where the runtime keeps the container's state
 *
 * HASH is of the runtime's --root: two of its users may give containers the same id. */
#pragma once

#include <linux/limits.h>
#include <stdbool.h>

#include "err.h"

/* Makes it anew. */
int container_folder_make(const char *state, const char *root, const char *id,
                          char ret_folder[static PATH_MAX], struct err *e);
/* False: there is none. */
bool container_folder_find(const char *state, const char *root, const char *id,
                           char ret_folder[static PATH_MAX]);
void container_folder_remove(const char *folder);

/* Removes those whose containers are gone without a `delete`, as after `run` without --detach. */
void container_folder_sweep(const char *state);
