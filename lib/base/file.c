/* file: whole files by name. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "fd.h"
#include "scope.h"

int file_read(const char *path, char **ret_text)
{
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return fd_read_all(fd, ret_text, NULL);
}

int file_replace(const char *path, const void *bytes, size_t count, mode_t mode)
{
        char new_path[PATH_MAX];
        int length = snprintf(new_path, sizeof new_path, "%s.%d.new", path, (int)getpid());

        if (length >= (int)sizeof new_path)
                return -ENAMETOOLONG;

        autoclose int fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;
        int r = fd_write_all(fd, bytes, count);
        if (r == 0 && rename(new_path, path) < 0)
                r = -errno;
        if (r < 0)
                unlink(new_path);
        return r;
}
