/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's folder, read whenever something changes in it. A container's folder is made
 * before its share, so one without is read again soon. */
#include "own_containers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "lease_break.h"
#include "log.h"
#include "share_title.h"

enum {
        HASH_LETTERS = 9, /* with the dash */
        SOON_MS = 50,
        CHECK_LEAST_MS = 5,
};

static bool is_containers(const char *name)
{
        return strlen(name) > HASH_LETTERS && name[HASH_LETTERS - 1] == '-';
}

static void forget_gone(void *owner, struct held_share *held)
{
        struct own_containers *containers = owner;

        if (!held->pod_uid[0] && !share_book_is_there(held)) {
                log_info("container %.12s and its share are gone", held->container_id);
                share_book_forget(containers->book, held);
        }
}

/* True: it is there in part. */
static bool container_check(struct own_containers *containers, const char *name)
{
        char path[SHARE_TEXT], want[SHARE_TEXT];
        struct held_share *held;
        struct err e = { 0 };

        if (snprintf(path, sizeof path, "%s/%s/share", containers->folder, name) >=
            (int)sizeof path)
                return false;
        snprintf(want, sizeof want, "%s/%.*s/want", containers->folder,
                 (int)(sizeof want - strlen(containers->folder) - 7), name);
        if (share_book_find_path(containers->book, path))
                return false;
        if (access(path, F_OK) < 0 || access(want, F_OK) < 0)
                return true;
        const int r = share_book_adopt(containers->book, path, &held, &e);
        if (r == -EAGAIN) { /* its container keeps it from us for a while */
                lease_break(path);
                return true;
        }
        if (r < 0) {
                log_warn("cannot adopt a container's share: %s", e.text);
                return false;
        }
        share_book_note_id(held, name + HASH_LETTERS);
        share_title_read(held);
        log_info("container %.12s has share '%s'", held->container_id, share_title_of(held));
        return false;
}

static void on_change(struct folder_watch *watch)
{
        struct own_containers *containers = container_of(watch, struct own_containers, watch);
        DIR *directory = opendir(containers->folder);
        struct dirent *entry;
        bool is_unfinished = false;

        containers->checked_ns = clock_now_ns();
        share_book_each(containers->book, forget_gone, containers);
        while (directory && (entry = readdir(directory)))
                if (is_containers(entry->d_name))
                        is_unfinished |= container_check(containers, entry->d_name);
        if (directory)
                closedir(directory);
        if (is_unfinished)
                folder_watch_soon(watch, SOON_MS * NS_PER_MS);
}

int own_containers_open(struct loop *loop, struct own_containers *containers)
{
        containers->watch.on_change = on_change;
        containers->watch.path = containers->folder;
        const int r = folder_watch_open(loop, &containers->watch);

        if (r == 0)
                on_change(&containers->watch);
        return r;
}

void own_containers_check(void *owner)
{
        struct own_containers *containers = owner;

        if (clock_now_ns() - containers->checked_ns >= CHECK_LEAST_MS * NS_PER_MS)
                on_change(&containers->watch);
}

void own_containers_close(struct own_containers *containers)
{
        if (containers->watch.loop)
                folder_watch_close(&containers->watch);
}
