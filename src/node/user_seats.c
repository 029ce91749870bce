/* Folders of users, their seats, and the shares in them. A share is named by the descriptor of its folder
 * (/proc/self/fd/N/share): what the user puts in its place later is another. */
#include "user_seats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "list.h"
#include "log.h"
#include "scope.h"
#include "seat.h"
#include "str.h"
#include "vec.h"

enum {
        FIND_MS = 2000, /* from one look for users to the next */
        LOOK_MS = 100,  /* while there are some */
        SEATS_MOST = 64,
};

struct user_share {
        char name[64];
        int folder;
        char path[SHARE_TEXT];
};

struct user_seat {
        struct list link;
        uid_t user;
        int folder;
        struct seat seat;
        bool is_ours;
        uint32_t members_seen;
        struct vec shares; /* of struct user_share */
};

struct user_seats {
        struct loop *loop;
        struct node_arbiter *arbiter;
        struct timer look;
        struct list seats;
        unsigned count;
        uint64_t found_ns; /* when users were last looked for */
};

/* A folder of the user's own, that nobody else can write to. */
static int folder_open(int above, const char *name, uid_t user)
{
        autoclose int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat status;

        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (status.st_uid != user || (status.st_mode & 022))
                return -EPERM;
        return steal_fd(fd);
}

static bool folder_is_gone(int folder)
{
        struct stat status;

        return fstat(folder, &status) < 0 || status.st_nlink == 0;
}

static void share_drop(struct user_seats *seats, struct user_seat *seat, size_t index)
{
        struct user_share *share = vec_at(&seat->shares, index);

        node_arbiter_remove(seats->arbiter, share->path);
        close(share->folder);
        vec_remove(&seat->shares, index);
}

static bool share_is_known(const struct user_seat *seat, const char *name)
{
        for (size_t i = 0; i < seat->shares.count; i++)
                if (strcmp(((struct user_share *)vec_at(&seat->shares, i))->name, name) == 0)
                        return true;
        return false;
}

static void share_add(struct user_seats *seats, struct user_seat *seat, const char *name)
{
        struct user_share share = { .folder = folder_open(seat->folder, name, seat->user) };

        if (share.folder < 0)
                return;
        str_copy(share.name, sizeof share.name, name);
        snprintf(share.path, sizeof share.path, "/proc/self/fd/%d/share", share.folder);
        if (faccessat(share.folder, "want", F_OK, AT_SYMLINK_NOFOLLOW) < 0 ||
            vec_push(&seat->shares, &share) < 0) {
                close(share.folder);
                return;
        }
        node_arbiter_add(seats->arbiter, share.path);
}

static void shares_look(struct user_seats *seats, struct user_seat *seat)
{
        for (size_t i = seat->shares.count; i-- > 0;)
                if (folder_is_gone(((struct user_share *)vec_at(&seat->shares, i))->folder))
                        share_drop(seats, seat, i);
        const int fd = openat(seat->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        while (directory && (entry = readdir(directory)))
                if (entry->d_name[0] != '.' &&
                    strlen(entry->d_name) < sizeof((struct user_share *)0)->name &&
                    !share_is_known(seat, entry->d_name))
                        share_add(seats, seat, entry->d_name);
        if (directory)
                closedir(directory);
        else if (fd >= 0)
                close(fd);
}

static void seat_drop(struct user_seats *seats, struct user_seat *seat)
{
        while (seat->shares.count)
                share_drop(seats, seat, seat->shares.count - 1);
        vec_done(&seat->shares);
        atomic_store(&seat->seat.file->agent_pid, 0);
        if (seat->is_ours)
                seat_give(&seat->seat);
        seat_close(&seat->seat);
        close(seat->folder);
        list_remove(&seat->link);
        seats->count--;
        free(seat);
}

static bool seat_is_known(const struct user_seats *seats, int folder)
{
        struct stat status, other;

        if (fstat(folder, &status) < 0)
                return true;
        LIST_EACH(link, &seats->seats)
        {
                const struct user_seat *seat = container_of(link, struct user_seat, link);

                if (fstat(seat->folder, &other) == 0 && other.st_ino == status.st_ino &&
                    other.st_dev == status.st_dev)
                        return true;
        }
        return false;
}

/* A folder of shares; the descriptor becomes the seat's. */
static void seat_add(struct user_seats *seats, int folder, uid_t user)
{
        autoclose int fd = folder;
        autofree struct user_seat *seat = calloc(1, sizeof *seat);

        if (!seat || seats->count == SEATS_MOST || seat_is_known(seats, fd) ||
            seat_open_of(fd, user, &seat->seat) < 0)
                return;
        seat->user = user;
        seat->folder = steal_fd(fd);
        seat->shares = (struct vec)VEC_OF(struct user_share);
        list_append(&seats->seats, &seat->link);
        seats->count++;
        seat_claim(&seat->seat);
        log_info("turns of user %u's programs are kept here", user);
        steal(seat);
}

/* ABOVE/PREFIX<uid>[/vgpu]: the user is in the name, and owns it. */
static void users_find(struct user_seats *seats, const char *above, const char *prefix,
                       bool is_below)
{
        DIR *directory = opendir(above);
        struct dirent *entry;

        while (directory && (entry = readdir(directory))) {
                uint64_t user;
                int folder = -1;

                if (!str_starts_with(entry->d_name, prefix) ||
                    str_parse_u64(entry->d_name + strlen(prefix), &user) < 0)
                        continue;
                folder = folder_open(dirfd(directory), entry->d_name, (uid_t)user);
                if (folder >= 0 && is_below) {
                        autoclose int home = folder;

                        folder = folder_open(home, "vgpu", (uid_t)user);
                }
                if (folder >= 0)
                        seat_add(seats, folder, (uid_t)user);
        }
        if (directory)
                closedir(directory);
}

/* The seat comes to us when its holder has left it, which takes a moment. */
static void seat_look(struct user_seats *seats, struct user_seat *seat)
{
        if (folder_is_gone(seat->folder)) {
                seat_drop(seats, seat);
                return;
        }
        const uint32_t members = atomic_load(&seat->seat.file->members);

        if (!seat->is_ours) {
                seat->is_ours = seat_try(&seat->seat);
                seat->members_seen = members - 1;
        }
        if (seat->is_ours && seat->members_seen != members) {
                shares_look(seats, seat);
                seat->members_seen = members;
        }
        atomic_fetch_add(&seat->seat.file->steps, 1);
}

static void on_look(struct timer *timer)
{
        struct user_seats *seats = container_of(timer, struct user_seats, look);
        const uint64_t now_ns = clock_now_ns();

        if (!seats->found_ns || now_ns - seats->found_ns >= FIND_MS * NS_PER_MS) {
                users_find(seats, "/run/user", "", true);
                users_find(seats, "/dev/shm", "vgpu-", false);
                seats->found_ns = now_ns;
        }
        LIST_EACH(link, &seats->seats)
        seat_look(seats, container_of(link, struct user_seat, link));
        loop_timer_set(seats->loop, &seats->look, (seats->count ? LOOK_MS : FIND_MS) * NS_PER_MS);
}

int user_seats_new(struct loop *loop, struct node_arbiter *arbiter, struct user_seats **ret_seats)
{
        struct user_seats *seats = calloc(1, sizeof *seats);

        if (!seats)
                return -ENOMEM;
        seats->loop = loop;
        seats->arbiter = arbiter;
        list_init(&seats->seats);
        seats->look.on_due = on_look;
        loop_timer_set(loop, &seats->look, 0);
        *ret_seats = seats;
        return 0;
}

void user_seats_free(struct user_seats *seats)
{
        if (!seats)
                return;
        loop_timer_clear(seats->loop, &seats->look);
        LIST_EACH(link, &seats->seats)
        seat_drop(seats, container_of(link, struct user_seat, link));
        free(seats);
}
