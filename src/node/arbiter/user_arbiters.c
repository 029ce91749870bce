/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of users, their arbiters' locks, and the shares in them. A share is named by the descriptor of its folder
 * (/proc/self/fd/N/share): what the user puts at the path later is another. */
#include "user_arbiters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arbiter_lock.h"
#include "clock.h"
#include "list.h"
#include "log.h"
#include "run_folders.h"
#include "scope.h"
#include "str.h"
#include "vec.h"

enum {
        FIND_MS = 2000, /* from one search for users to the next */
        CHECK_MS = 100, /* while there are some */
        USER_ARBITERS_MOST = 64,
        USER_SHARES_MOST =
                32, /* of one folder: each takes a descriptor, three mappings and the arbiter's time */
        USERS_SHARES_MOST = 256, /* of all: containers find their place besides */
};

struct user_arbiter_share {
        char name[64];
        int folder;
        char path[SHARE_TEXT];
};

struct user_arbiter {
        struct list link;
        uid_t user;
        int folder;
        struct arbiter_lock lock;
        bool is_ours;
        uint32_t members_seen;
        struct vec shares; /* of struct user_arbiter_share */
};

struct user_arbiters {
        struct loop *loop;
        struct node_arbiter *arbiter;
        struct timer check;
        struct list list;
        unsigned count, share_count;
        uint64_t found_ns; /* when users were last searched for */
};

static bool folder_is_gone(int folder)
{
        struct stat status;

        return fstat(folder, &status) < 0 || status.st_nlink == 0;
}

/* One user's folder, while it is searched. */
struct search {
        struct user_arbiters *users;
        struct user_arbiter *user;
};

static void share_drop(struct user_arbiters *users, struct user_arbiter *user, size_t index)
{
        struct user_arbiter_share *share = vec_at(&user->shares, index);

        node_arbiter_remove(users->arbiter, share->path);
        close(share->folder);
        vec_remove(&user->shares, index);
        users->share_count--;
}

static bool share_is_known(const struct user_arbiter *user, const char *name)
{
        for (size_t i = 0; i < user->shares.count; i++)
                if (strcmp(((struct user_arbiter_share *)vec_at(&user->shares, i))->name, name) ==
                    0)
                        return true;
        return false;
}

static void on_share(void *owner, const struct user_share *found)
{
        const struct search *search = owner;
        struct user_arbiter_share share = { 0 };

        if (search->user->shares.count == USER_SHARES_MOST ||
            search->users->share_count == USERS_SHARES_MOST ||
            share_is_known(search->user, found->name) ||
            faccessat(found->folder, "want", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return;
        share.folder = fcntl(found->folder, F_DUPFD_CLOEXEC, 0);
        str_copy(share.name, sizeof share.name, found->name);
        snprintf(share.path, sizeof share.path, "/proc/self/fd/%d/share", share.folder);
        if (share.folder < 0 || vec_push(&search->user->shares, &share) < 0) {
                close(share.folder);
                return;
        }
        search->users->share_count++;
        node_arbiter_add(search->users->arbiter, share.path);
}

static void shares_find(struct user_arbiters *users, struct user_arbiter *user)
{
        const struct run_folder folder = { .user = user->user, .folder = user->folder };
        struct search search = { users, user };

        for (size_t i = user->shares.count; i-- > 0;)
                if (folder_is_gone(((struct user_arbiter_share *)vec_at(&user->shares, i))->folder))
                        share_drop(users, user, i);
        run_folder_shares(&folder, on_share, &search);
}

static void user_arbiter_drop(struct user_arbiters *users, struct user_arbiter *user)
{
        while (user->shares.count)
                share_drop(users, user, user->shares.count - 1);
        vec_done(&user->shares);
        atomic_store(&user->lock.file->agent_pid, 0);
        if (user->is_ours)
                arbiter_lock_release(&user->lock);
        arbiter_lock_close(&user->lock);
        close(user->folder);
        list_remove(&user->link);
        users->count--;
        free(user);
}

static bool folder_is_known(const struct user_arbiters *users, int folder)
{
        struct stat status, other;

        if (fstat(folder, &status) < 0)
                return true;
        LIST_EACH (link, &users->list) {
                const struct user_arbiter *user = container_of(link, struct user_arbiter, link);

                if (fstat(user->folder, &other) == 0 && other.st_ino == status.st_ino &&
                    other.st_dev == status.st_dev)
                        return true;
        }
        return false;
}

/* A folder of shares; the descriptor becomes the arbiter's. */
static void user_arbiter_add(struct user_arbiters *users, int folder, uid_t uid)
{
        autoclose int fd = folder;
        autofree struct user_arbiter *user = calloc(1, sizeof *user);

        if (!user || users->count == USER_ARBITERS_MOST || folder_is_known(users, fd) ||
            arbiter_lock_open_of(fd, uid, &user->lock) < 0)
                return;
        user->user = uid;
        user->folder = steal_fd(fd);
        user->shares = (struct vec)VEC_OF(struct user_arbiter_share);
        list_append(&users->list, &user->link);
        users->count++;
        arbiter_lock_claim(&user->lock);
        log_info("arbitrating the programs of user %u", uid);
        steal(user);
}

static void on_folder(void *owner, const struct run_folder *found)
{
        const int folder = fcntl(found->folder, F_DUPFD_CLOEXEC, 0);

        if (folder >= 0)
                user_arbiter_add(owner, folder, found->user);
}

/* The lock is ours when its holder has released it, which takes a moment. */
static void user_arbiter_check(struct user_arbiters *users, struct user_arbiter *user)
{
        if (folder_is_gone(user->folder)) {
                user_arbiter_drop(users, user);
                return;
        }
        const uint32_t members = atomic_load(&user->lock.file->members);

        if (!user->is_ours) {
                user->is_ours = arbiter_lock_try(&user->lock);
                user->members_seen = members - 1;
        }
        if (user->is_ours && user->members_seen != members) {
                shares_find(users, user);
                user->members_seen = members;
        }
        atomic_fetch_add(&user->lock.file->steps, 1);
}

static void on_check(struct timer *timer)
{
        struct user_arbiters *users = container_of(timer, struct user_arbiters, check);
        const uint64_t now_ns = clock_now_ns();

        if (!users->found_ns || now_ns - users->found_ns >= FIND_MS * NS_PER_MS) {
                run_folders_each(on_folder, users);
                users->found_ns = now_ns;
        }
        LIST_EACH (link, &users->list)
                user_arbiter_check(users, container_of(link, struct user_arbiter, link));
        loop_timer_set(users->loop, &users->check, (users->count ? CHECK_MS : FIND_MS) * NS_PER_MS);
}

int user_arbiters_new(struct loop *loop, struct node_arbiter *arbiter,
                      struct user_arbiters **ret_users)
{
        struct user_arbiters *users = calloc(1, sizeof *users);

        if (!users)
                return -ENOMEM;
        users->loop = loop;
        users->arbiter = arbiter;
        list_init(&users->list);
        users->check.on_due = on_check;
        loop_timer_set(loop, &users->check, 0);
        *ret_users = users;
        return 0;
}

void user_arbiters_free(struct user_arbiters *users)
{
        if (!users)
                return;
        loop_timer_clear(users->loop, &users->check);
        LIST_EACH (link, &users->list)
                user_arbiter_drop(users, container_of(link, struct user_arbiter, link));
        free(users);
}
