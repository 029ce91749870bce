/* SPDX-License-Identifier: Apache-2.0 */
/* share_folder: the files of one container's share on the node. */
#pragma once

#include "err.h"
#include "gpu_page.h"
#include "share.h"

enum { SHARE_FOLDER_ROOT = 112 }; /* so that UID, container and file still fit into a SHARE_TEXT */

/* STATE/shares, made if missing, for root alone. */
int share_folder_root(const char *state_folder, char ret_root[static SHARE_FOLDER_ROOT],
                      struct err *e);
/* ROOT/POD-UID/CONTAINER/share. -EINVAL: a name that is none. */
int share_folder_path(const char *root, const char *pod_uid, const char *container,
                      char ret_path[static SHARE_TEXT], struct err *e);
/* Another file of the same folder. */
void share_folder_beside(const char *path, const char *name, char ret_path[static SHARE_TEXT]);

/* Makes all files, the share last: whoever sees one finds the rest. region and region_inode of the copy
 * are set. What a maker that was killed has left is made anew; nothing is left behind on failure. */
int share_folder_make(const char *path, struct share_copy *copy, const char *boot,
                      const struct gpu_device *gpu_devices, struct err *e);
/* What became of a share when it was opened. */
enum share_opened {
        SHARE_AS_IT_WAS,
        SHARE_MENDED, /* as share_mend() has it */
        SHARE_RENEWED, /* it has a region that nobody has written to: the other was of another boot */
};

/* Opens one that was made before. -EBADMSG: it lies under another container's name. */
int share_folder_open(const char *path, const char *boot, struct share *ret_share,
                      enum share_opened *ret_opened, struct err *e);
void share_folder_remove(const char *path);

/* Every path at which there may be a share. */
int share_folder_each(const char *root, void (*visit)(void *owner, const char *path), void *owner,
                      struct err *e);
