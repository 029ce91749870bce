/* SPDX-License-Identifier: Apache-2.0 */
/* verify: a hook of the container's start. When everything is mounted and nothing runs yet, it
 * looks whether the share lies where the library will look for it.
 *
 * Before the mounts this cannot be known: a volume may hold a symbolic link that leads another
 * volume over /etc, and its content may change until the moment of mounting. */
#pragma once

#include "err.h"
#include "spec.h"

/* Adds the hook to the container: at /etc/vgpu/share of this root there must be this file, at
 * /etc/ld.so.preload that one. */
int verify_put(struct spec *spec, const char *root, const char *share, const char *preload,
               struct err *e);

/* The hook itself: `vgpu-runtime verify ROOT SHARE PRELOAD`. The exit status. */
int verify_command(int argc, char **argv);
