/* SPDX-License-Identifier: Apache-2.0 */
/* process: what /proc says of a process. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scope.h"

struct stat_line {
        char state;
        uint64_t threads;
        uint64_t start;
};

/* Its number in that /proc; 0: it has none there, or there is no /proc. */
static pid_t pid_in(const char *proc, pid_t pid)
{
        char path[256], text[16] = "";

        if (pid != PROCESS_SELF)
                return pid;
        snprintf(path, sizeof path, "%.200s/self", proc);
        return readlink(path, text, sizeof text - 1) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* False: no such process, or no /proc. By its first thread, whose line has the same state, count of threads
 * and start: emulators (qemu-user) make up the line of the process itself, so that it would see another
 * start than others do. */
static bool stat_read(const char *proc, pid_t pid, struct stat_line *ret_line)
{
        char path[256], text[1024];

        pid = pid_in(proc, pid);
        snprintf(path, sizeof path, "%.200s/%d/task/%d/stat", proc, pid, pid);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        if (length <= 0)
                return false;
        text[length] = '\0';
        /* The name in parentheses may hold anything: count fields from behind it. */
        char *p = strrchr(text, ')');
        if (!p || p[1] != ' ')
                return false;
        ret_line->state = p[2];
        p += 2;
        for (unsigned field = 3; field < 22 && p; field++) {
                p = strchr(p + 1, ' ');
                if (p && field + 1 == 20)
                        ret_line->threads = strtoull(p, NULL, 10);
        }
        if (!p)
                return false;
        ret_line->start = strtoull(p, NULL, 10);
        return true;
}

uint64_t process_start_time_in(const char *proc, pid_t pid)
{
        struct stat_line line;

        return stat_read(proc, pid, &line) ? line.start : 0;
}

uint64_t process_start_time(pid_t pid)
{
        return process_start_time_in("/proc", pid);
}

uint64_t process_ticks_now(void)
{
        const uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * ticks_per_s +
               (uint64_t)now.tv_nsec / (1000000000 / ticks_per_s);
}

static bool is_alive(pid_t pid, uint64_t start_time)
{
        struct stat_line line = { 0 };

        if (pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH))
                return false;
        /* There, and nothing more to be known; unless its parent has waited for it since. */
        if (!stat_read("/proc", pid, &line))
                return kill(pid, 0) == 0 || errno != ESRCH;
        /* The first thread may have ended while others go on: it waits for them as a zombie. */
        if ((line.state == 'Z' && line.threads <= 1) || line.state == 'X')
                return false;
        return !start_time || line.start == start_time;
}

bool process_is_alive(pid_t pid, uint64_t start_time)
{
        int saved_errno = errno;
        bool is = is_alive(pid, start_time);

        errno = saved_errno;
        return is;
}

void process_name(char *text, size_t size)
{
        autoclose int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

        if (length < 0)
                length = 0;
        text[length] = '\0';
        text[strcspn(text, "\n")] = '\0';
}
