/* SPDX-License-Identifier: Apache-2.0 */
/* file_identity: by the system call itself, as the C library's stat() would need a newer one. */
#include "file_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int identity_read(int fd, const char *path, int flags, struct file_identity *ret_identity)
{
        struct stat found;
        int saved_errno = errno;

        if (syscall(SYS_newfstatat, fd, path, &found, flags) < 0) {
                int r = -errno;
                errno = saved_errno;
                return r;
        }
        *ret_identity = (struct file_identity){ .device = found.st_dev, .inode = found.st_ino };
        return 0;
}

int file_identity_of(int fd, struct file_identity *ret_identity)
{
        return identity_read(fd, "", AT_EMPTY_PATH, ret_identity);
}

int file_identity_at(const char *path, struct file_identity *ret_identity)
{
        return identity_read(AT_FDCWD, path, 0, ret_identity);
}
