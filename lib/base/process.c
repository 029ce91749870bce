/* process: what /proc says of a process. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scope.h"

/* State letter and start time. False: no such process, or no /proc. */
static bool stat_read(const char *proc, pid_t pid, char *ret_state, uint64_t *ret_start)
{
        char path[256], text[1024];

        if (pid == PROCESS_SELF)
                snprintf(path, sizeof path, "%.200s/self/stat", proc);
        else
                snprintf(path, sizeof path, "%.200s/%d/stat", proc, pid);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        if (length <= 0)
                return false;
        text[length] = '\0';
        /* The name in parentheses may hold anything: count fields from behind it. */
        char *p = strrchr(text, ')');
        if (!p || p[1] != ' ')
                return false;
        *ret_state = p[2];
        p += 2;
        for (unsigned field = 3; field < 22 && p; field++)
                p = strchr(p + 1, ' ');
        if (!p)
                return false;
        *ret_start = strtoull(p, NULL, 10);
        return true;
}

uint64_t process_start_time_in(const char *proc, pid_t pid)
{
        uint64_t start;
        char state;

        return stat_read(proc, pid, &state, &start) ? start : 0;
}

uint64_t process_start_time(pid_t pid)
{
        return process_start_time_in("/proc", pid);
}

bool process_is_alive(pid_t pid, uint64_t start_time)
{
        uint64_t start;
        char state;

        if (pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH))
                return false;
        if (!stat_read("/proc", pid, &state, &start))
                return true; /* there, and nothing more to be known */
        if (state == 'Z' || state == 'X')
                return false;
        return !start_time || start == start_time;
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
