/* SPDX-License-Identifier: Apache-2.0 */
/* liar: a library that a tenant preloads, and that answers for the C library. LIAR says what about:
 *
 *      access   there is no share
 *      kill     all other processes are dead
 *      clock    time passes four times as fast
 *      pid      this process is the container's first
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static int lies_about(const char *what)
{
        const char *about = getenv("LIAR");

        return about && strcmp(about, what) == 0;
}

SEEN int access(const char *path, int mode)
{
        if (lies_about("access") && strncmp(path, "/etc/vgpu/", 10) == 0) {
                errno = ENOENT;
                return -1;
        }
        return (int)syscall(SYS_faccessat, -100, path, mode);
}

SEEN int kill(pid_t pid, int number)
{
        if (lies_about("kill") && number == 0) {
                errno = ESRCH;
                return -1;
        }
        return (int)syscall(SYS_kill, pid, number);
}

SEEN pid_t getpid(void)
{
        return lies_about("pid") ? 1 : (pid_t)syscall(SYS_getpid);
}

SEEN int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
        enum { TIMES = 4 };
        const long r = syscall(SYS_clock_gettime, clock, ret_now);

        if (r == 0 && lies_about("clock")) {
                ret_now->tv_sec *= TIMES;
                ret_now->tv_sec += ret_now->tv_nsec * TIMES / 1000000000;
                ret_now->tv_nsec = ret_now->tv_nsec * TIMES % 1000000000;
        }
        return (int)r;
}
