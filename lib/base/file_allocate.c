/* SPDX-License-Identifier: Apache-2.0 */
/* file_allocate: by fallocate() itself, as the C library's stand-in for it would write into the file. */
#include "file_allocate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

/* Growing beyond RLIMIT_FSIZE raises SIGXFSZ. */
static bool may_grow_to(uint64_t bytes)
{
        struct rlimit most;

        return getrlimit(RLIMIT_FSIZE, &most) < 0 || most.rlim_cur == RLIM_INFINITY ||
               bytes <= most.rlim_cur;
}

int file_extend(int fd, uint64_t bytes)
{
        const off_t size = lseek(fd, 0, SEEK_END); /* fstat() would need a newer C library */

        if (size < 0)
                return -errno;
        if ((uint64_t)size >= bytes)
                return 0;
        if (!may_grow_to(bytes))
                return -EFBIG;
        return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
}

int file_allocate(int fd, uint64_t offset, uint64_t bytes)
{
        const int r = file_extend(fd, offset + bytes);

        if (r < 0)
                return r;
        while (fallocate(fd, 0, (off_t)offset, (off_t)bytes) < 0) {
                if (errno == EOPNOTSUPP || errno == ENOSYS)
                        return 0;
                if (errno != EINTR)
                        return -errno;
        }
        return 0;
}
