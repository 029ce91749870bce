/* SPDX-License-Identifier: Apache-2.0 */
/* mount_source: the files in a container's folder (container_folder.h) that its mounts need. */
#pragma once

/* An empty file or folder for a mount of `source` at `path`, if that is below /etc/vgpu, which the
 * container cannot write to. 0 or a negative errno. */
int mount_source_make(const char *folder, const char *path, const char *source);

/* ld.so.preload: our library first, so that whoever stands behind it is reached through it; then
 * what the image has, which may be NULL. */
int mount_source_preload(const char *folder, const char *image_text);
