/* SPDX-License-Identifier: Apache-2.0 */
/* rootfs: the container's root folder before it starts. What an image brings is not to be believed:
 * a symbolic link in the place of /etc would lead a mount of ours elsewhere, or the host's files
 * inside. */
#pragma once

#include <linux/limits.h>

#include "err.h"
#include "spec.h"

struct rootfs {
        char path[PATH_MAX];
        int fd;
        char *preload; /* what the image has in /etc/ld.so.preload; NULL: nothing */
};

/* Looks at it, and makes /etc where the image has none. -EPERM: the share would not be safe in it,
 * and the sentence says what is in the way. */
int rootfs_open(const struct spec *spec, const char *bundle, struct rootfs *ret_rootfs,
                struct err *e);
void rootfs_close(struct rootfs *rootfs);
