/* SPDX-License-Identifier: Apache-2.0 */
/* A lease (fcntl(2)) on a file, as root in a container can take one. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A container's root keeps a file from being opened for writing, until the child is told to end. */
struct lease {
        pid_t child;
        int end;
};

static inline void lease_take(const char *path, struct lease *ret_lease)
{
        int ready[2], end[2];
        char byte;

        CHECK_EQ(pipe(ready), 0);
        CHECK_EQ(pipe(end), 0);
        ret_lease->child = fork();
        if (ret_lease->child == 0) {
                const int fd = open(path, O_RDONLY);

                close(end[1]);
                signal(SIGIO, SIG_IGN);
                byte = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
                _exit(write(ready[1], &byte, 1) != 1 || read(end[0], &byte, 1));
        }
        close(end[0]);
        CHECK_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        ret_lease->end = end[1];
        CHECK_EQ(byte, 1);
}

static inline void lease_end(const struct lease *lease)
{
        close(lease->end);
        waitpid(lease->child, NULL, 0);
}
