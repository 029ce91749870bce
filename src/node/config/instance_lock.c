/* SPDX-License-Identifier: Apache-2.0 */
/* A lock on the folder itself: kubelet removes all files of its own when it starts, and the kernel drops the lock
 * however its holder ends. */
#include "instance_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "scope.h"

enum { TRY_MS = 100 };

/* -EBUSY: another has it. *ret_fd -1: nobody can have it. */
static int lock_try(const char *folder, int *ret_fd)
{
        autoclose int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

        if (fd >= 0 && !is_locked && (errno == EWOULDBLOCK || errno == EINTR))
                return -EBUSY;
        *ret_fd = is_locked ? steal_fd(fd) : -1;
        return 0;
}

int instance_lock_open(struct instance_lock *lock, const char *folder, unsigned wait_ms,
                       struct err *e)
{
        unsigned waited_ms = 0;

        *lock = (struct instance_lock){ folder, -1 };
        while (lock_try(folder, &lock->fd) < 0) {
                if (waited_ms >= wait_ms)
                        return err_set(e, -EBUSY, "another vgpu-node works with '%s'; stop it first",
                                       folder);
                if (waited_ms == 0)
                        log_info("another vgpu-node works with '%s'; waiting until it ends", folder);
                usleep(TRY_MS * 1000);
                waited_ms += TRY_MS;
        }
        return 0;
}

static void lock_close(struct instance_lock *lock)
{
        if (lock->fd >= 0)
                close(lock->fd);
        lock->fd = -1;
}

void instance_lock_follow(struct instance_lock *lock)
{
        struct stat now, held;
        int fd;

        if (stat(lock->folder, &now) < 0)
                return;
        if (lock->fd >= 0 && fstat(lock->fd, &held) == 0 && held.st_dev == now.st_dev &&
            held.st_ino == now.st_ino)
                return;
        if (lock_try(lock->folder, &fd) < 0)
                return;
        lock_close(lock);
        lock->fd = fd;
}
