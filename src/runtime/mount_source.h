/* SPDX-License-Identifier: Apache-2.0 */
/* mount_source: the files in a container's folder (container_folder.h) that its mounts need. */
#pragma once

/* An empty file or folder for a mount of `source` at `path`, if that is below /etc/vgpu, which the
 * container cannot write to. 0 or a negative errno. */
int mount_source_make(const char *folder, const char *path, const char *source);

/* ld.so.preload: libvgpu.so first, so that calls of the libraries after it pass through it; then the
 * image's own lines, which may be NULL. */
int mount_source_preload(const char *folder, const char *image_text);
