/* SPDX-License-Identifier: Apache-2.0 */
/* fd: read and write all of it, whatever the kernel interrupts or cuts short. */
#include "fd.h"

#include <errno.h>
#include <unistd.h>

#include "scope.h"
#include "str.h"

int fd_write_all(int fd, const void *bytes, size_t count)
{
        const char *at = bytes;

        while (count) {
                ssize_t n = write(fd, at, count);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                at += n;
                count -= (size_t)n;
        }
        return 0;
}

int fd_read_all(int fd, char **ret_text, size_t *ret_length)
{
        struct str str = { 0 };
        char block[4096];
        int r = str_append(&str, "");

        while (r == 0) {
                ssize_t n = read(fd, block, sizeof block);
                if (n == 0)
                        break;
                if (n > 0)
                        r = str_append_bytes(&str, block, (size_t)n);
                else if (errno != EINTR)
                        r = -errno;
        }
        if (r < 0) {
                str_done(&str);
                return r;
        }
        if (ret_length)
                *ret_length = str.length;
        *ret_text = steal(str.text);
        return 0;
}
