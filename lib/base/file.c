/* SPDX-License-Identifier: Apache-2.0 */
/* file: whole files by name. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "fd.h"
#include "scope.h"

bool file_error_is_shortage(int r)
{
        return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

bool file_error_passes(int r)
{
        return file_error_is_shortage(r) || r == -EAGAIN;
}

int file_read(const char *path, char **ret_text)
{
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return fd_read_all(fd, ret_text, NULL);
}

static int replace(const char *path, const void *bytes, size_t count, mode_t mode,
                   const struct stat *like)
{
        char new_path[PATH_MAX];
        int length = snprintf(new_path, sizeof new_path, "%s.%d.new", path, (int)getpid());

        if (length >= (int)sizeof new_path)
                return -ENAMETOOLONG;

        autoclose int fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;
        int r = 0;
        if (like &&
            (fchown(fd, like->st_uid, like->st_gid) < 0 || fchmod(fd, like->st_mode & 07777) < 0))
                r = -errno;
        if (r == 0)
                r = fd_write_all(fd, bytes, count);
        if (r == 0 && rename(new_path, path) < 0)
                r = -errno;
        if (r < 0)
                unlink(new_path);
        return r;
}

int file_replace(const char *path, const void *bytes, size_t count, mode_t mode)
{
        return replace(path, bytes, count, mode, NULL);
}

int file_replace_like(const char *path, const void *bytes, size_t count, const struct stat *like)
{
        return replace(path, bytes, count, 0600, like);
}
