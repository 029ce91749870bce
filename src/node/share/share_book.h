/* SPDX-License-Identifier: Apache-2.0 */
/* share_book: the shares of this node's containers, by pod and container.
 *
 * A share is a folder, STATE/shares/POD-UID/CONTAINER, with the files share, region, grant and want; a
 * container has them mounted, so they are made once, changed in place and never replaced. The folders are
 * all that the book is made of: opened again, it holds what it held. The loop's thread only. */
#pragma once

#include <stddef.h>
#include <time.h>

#include "err.h"
#include "file_identity.h"
#include "gpu_page.h"
#include "hash.h"
#include "list.h"
#include "region.h"
#include "share.h"
#include "share_decided.h"

struct share_book;

enum { SHARE_BOOK_KEY = 64 + SHARE_TEXT };

/* One container's. Read it; what changes it is below. */
struct held_share {
        /* Whose it is, and what `vgpu ps` and `vgpu set` call it. */
        char pod_uid[64], pod_namespace[64], pod[SHARE_TEXT], container[SHARE_TEXT], name[64];
        char container_id[128]; /* as the container runtime calls it now; "": not known */
        char title[128];  /* as its engine calls it (share_title.h); "": it has no such name */
        char *title_file; /* of the engine, where the name is kept; NULL: none */
        struct timespec title_changed;
        char path[SHARE_TEXT]; /* of the share file, on the node; the others lie beside it */
        /* Open and writable for share_book_change(). Pages that were read count as ours until
         * share_book_trim(). */
        struct share share;
        struct file_identity file; /* of what is mapped: another may lie at the path by now */
        bool is_going; /* its pod is over: it is kept until the pod's processes are gone */
        struct share_decided
                *decided; /* a row per device; NULL: nobody noted what was decided for it */

        struct list link; /* of the book */
        struct hash_link by_container, by_name;
        char key[SHARE_BOOK_KEY]; /* "POD-UID/CONTAINER" */
};

/* Takes in what lies in the folder, which is made if it is missing. `boot` names this run of the
 * machine: a region of an earlier one is made anew, because none of its processes lives. */
int share_book_open(const char *state_folder, const char *boot, struct share_book **ret_book,
                    struct err *e);
void share_book_close(struct share_book *book); /* the files stay; NULL is fine */
/* A container can keep its files from being opened for a while (by a lease, fcntl(2)), and there may be no memory or no
 * descriptor for them. Nobody waits for it: such shares are taken in by one of these later; true: some are left. Until then share_book_make() says -EAGAIN. */
bool share_book_retry(struct share_book *book);

struct held_share *share_book_find(const struct share_book *book, const char *pod_uid,
                                   const char *container);
struct held_share *share_book_find_name(const struct share_book *book, const char *name);
/* Calls it for each, oldest first; it may remove the one it is given. */
void share_book_each(struct share_book *book, void (*visit)(void *owner, struct held_share *held),
                     void *owner);
size_t share_book_count(const struct share_book *book);

/* Makes the share of a container that has none: pages and region, then the share that names them.
 * content has the container's identity and its devices, GPUs a row per device; name, paths and the
 * region are filled in. -EEXIST; -EAGAIN: its files are there, and cannot be opened yet. */
int share_book_make(struct share_book *book, const struct share_copy *content,
                    const struct gpu_device *gpu_devices, struct held_share **ret_held,
                    struct err *e);
/* Replaces the content in place: identity, name and region stay, whatever content says; so do the
 * devices, which must be the same in the same order. */
int share_book_change(struct share_book *book, struct held_share *held,
                      const struct share_copy *content, struct err *e);
/* Takes in a share that another has made and keeps, with pages and region beside it; the owner of its
 * files stays. -EEXIST: one of its container or its name is there. */
int share_book_adopt(struct share_book *book, const char *path, struct held_share **ret_held,
                     struct err *e);
/* Takes it out; its files stay. */
void share_book_forget(struct share_book *book, struct held_share *held);
struct held_share *share_book_find_path(const struct share_book *book, const char *path);
/* Whether its file lies there still: a container that was started again has another. */
bool share_book_is_there(const struct held_share *held);

/* The container runs under this id now; kept beside the share. */
void share_book_note_id(struct held_share *held, const char *container_id);
/* Takes it out and removes its files; a container that still has them mounted keeps them. */
void share_book_remove(struct share_book *book, struct held_share *held);

/* Gives the pages of a share that was read back to the kernel, or of all. */
void share_book_trim_share(struct held_share *held);
void share_book_trim(struct share_book *book);

enum share_change { SHARE_MADE, SHARE_CHANGED, SHARE_GONE };

/* Embedded by its observers. */
struct share_listener {
        /* SHARE_GONE comes while all is still there. */
        void (*on_share)(struct share_listener *listener, enum share_change change,
                         struct held_share *held);
        struct list link;
};
void share_book_listen(struct share_book *book, struct share_listener *listener);
void share_book_unlisten(struct share_listener *listener);
