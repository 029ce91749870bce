/* SPDX-License-Identifier: Apache-2.0 */
/* run_folders: the shares of all users of this machine who run programs by `vgpu run`, as root sees them.
 *
 * What lies in a user's folder is that user's to write, to cut short and to replace at any moment. So it is
 * reached through descriptors and never through links, belongs to that user and nobody else can write to it,
 * is read once and bounded, and texts are made harmless before they are handed on. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "share.h"

/* Where they are looked for: a list of folders with colons, in each of which UID/vgpu and vgpu-UID count. */
#define RUN_FOLDERS_VARIABLE "VGPU_RUN_FOLDERS"
#define RUN_FOLDERS_DEFAULT  "/run/user:/dev/shm:/tmp"

enum {
        RUN_FOLDERS_SHARES = 256, /* of one user; more are not read */
        RUN_FOLDERS_USER = 64,    /* letters of a user's name */
};

/* A user's folder of shares. */
struct run_folder {
        uid_t user;
        char user_name[RUN_FOLDERS_USER]; /* of /etc/passwd; "1000" where it has none */
        int folder;
};

/* One share in it. */
struct user_share {
        uid_t user;
        char user_name[RUN_FOLDERS_USER];
        char name[64]; /* as that user calls it */
        int root;      /* the folder of the user's shares */
        int folder;    /* this share's: the files share, region, grant and want are in it */
};

/* Opens a folder that is the user's own and that nobody else can write to; -EPERM: it is another one. A link
 * is not followed. */
int run_folder_open_of(int above, const char *name, uid_t user);

/* Calls it for each folder of a user's shares. The descriptor is the enumeration's: who wants to keep it
 * duplicates it. */
void run_folders_each(void (*visit)(void *owner, const struct run_folder *folder), void *owner);
/* Calls it for each share of the folder, or of all. The descriptors are the enumeration's, too. */
void run_folder_shares(const struct run_folder *folder,
                       void (*visit)(void *owner, const struct user_share *share), void *owner);
void user_shares_each(void (*visit)(void *owner, const struct user_share *share), void *owner);

/* The path of a file of the share, by its descriptor: good while that is open, whatever is renamed. */
void user_share_path(const struct user_share *share, const char *file, char ret_path[SHARE_TEXT]);

/* A copy of what it says, checked; name and region are those of the folder. -EPROTO: no share file. */
int user_share_read(const struct user_share *share, struct share_copy *ret_copy, struct err *e);
/* Replaces the limits of its devices, as its user can; they must be the same devices in the same order.
 * -EAGAIN: its user is changing something. The arbiter is for the caller to ring (arbiter_lock_open_of()). */
int user_share_change(const struct user_share *share, const struct share_copy *content,
                      struct err *e);
/* Whether a process has it; one that was left behind by the killed is not used. */
bool user_share_is_used(const struct user_share *share);
