/* SPDX-License-Identifier: Apache-2.0 */
/* call_log: appends one line per call to the file that VGPU_SIM_LOG names. */
#include "call_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

static struct {
        int fd;
        atomic_ulong sequence;
} call_log = { .fd = -1 };

bool call_log_open(const char *path)
{
        if (!path || !*path)
                return false;

        call_log.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (call_log.fd < 0)
                log_warn("cannot write the call log '%s': %s", path, strerror(errno));
        return call_log.fd >= 0;
}

void call_log_write(const char *function, int result)
{
        int saved_errno = errno;
        char line[160];
        unsigned long sequence = atomic_fetch_add(&call_log.sequence, 1);
        int length = snprintf(line, sizeof line, "%d %lu %s %d\n", (int)getpid(), sequence,
                              function, result);
        /* A full disk must not change what the program under test sees. */
        ssize_t ignored = write(call_log.fd, line, (size_t)length);

        (void)ignored;
        errno = saved_errno;
}
