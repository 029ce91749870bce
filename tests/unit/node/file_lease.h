/* SPDX-License-Identifier: Apache-2.0 */
/* A lease (fcntl(2)) on a file, as root in a container can take one. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A container's root keeps a file from being opened for writing, until the child is told to end. */
struct lease {
        pid_t child;
        int end;
};

static inline bool lease_try(int fd)
{
        return fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
}

/* Gives it up when somebody asks, and takes it again at once: whoever asks without waiting is refused. */
static inline void lease_take_again(int fd, const sigset_t *asked)
{
        int number;

        while (sigwait(asked, &number) == 0) {
                fcntl(fd, F_SETLEASE, F_UNLCK);
                while (!lease_try(fd))
                        usleep(100);
        }
}

static inline void lease_take_as(const char *path, bool is_taken_again, struct lease *ret_lease)
{
        int ready[2], end[2];
        char byte;

        CHECK_EQ(pipe(ready), 0);
        CHECK_EQ(pipe(end), 0);
        ret_lease->child = fork();
        if (ret_lease->child == 0) {
                const int fd = open(path, O_RDONLY);
                sigset_t asked;

                prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that failed */
                close(end[1]);
                sigemptyset(&asked);
                sigaddset(&asked, SIGIO);
                sigprocmask(SIG_BLOCK, &asked, NULL);
                byte = lease_try(fd);
                if (write(ready[1], &byte, 1) == 1 && is_taken_again)
                        lease_take_again(fd, &asked);
                _exit(read(end[0], &byte, 1) != 0);
        }
        close(end[0]);
        CHECK_EQ(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        ret_lease->end = end[1];
        CHECK_EQ(byte, 1);
}

static inline void lease_take(const char *path, struct lease *ret_lease)
{
        lease_take_as(path, false, ret_lease);
}

static inline void lease_end(const struct lease *lease)
{
        close(lease->end);
        kill(lease->child, SIGKILL);
        waitpid(lease->child, NULL, 0);
}
