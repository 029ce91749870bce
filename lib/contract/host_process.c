/* SPDX-License-Identifier: Apache-2.0 */
/* host_process: /proc, ours and the host's. */
#include "host_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scope.h"

static const char *proc(void)
{
        return access(HOST_PROC "/self", F_OK) == 0 ? HOST_PROC : "/proc";
}

static bool text_read(const char *path, char *text, size_t size)
{
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

        text[length > 0 ? length : 0] = '\0';
        return length > 0;
}

unsigned host_process_visible_self(void)
{
        char path[32], text[16] = "";

        snprintf(path, sizeof path, "%s/self", proc());
        ssize_t length = readlink(path, text, sizeof text - 1);
        return length > 0 ? (unsigned)strtoul(text, NULL, 10) : (unsigned)getpid();
}

unsigned host_process_self(void)
{
        unsigned pid = host_process_visible_self();

        return pid != (unsigned)getpid() || access(HOST_PROC "/self", F_OK) == 0 ? pid : 0;
}

bool host_process_is_initial(void)
{
        char text[32] = "";

        /* The kernel gives its first pid namespace this number. */
        return readlink("/proc/self/ns/pid", text, sizeof text - 1) > 0 &&
               strcmp(text, "pid:[4026531836]") == 0;
}

bool host_process_driver_is_open(void)
{
        char text[512];

        return text_read("/proc/driver/nvidia/version", text, sizeof text) &&
               strstr(text, "Open Kernel Module");
}

/* The line that names the group: "0::/path" in version 2; in version 1 the one of pids, which every
 * container has. NULL: there is none. */
static char *group_line(char *text, int version)
{
        char *found = strstr(text, version == 2 ? "0::" : ":pids:");

        if (!found || (version == 2 && found != text && found[-1] != '\n'))
                return NULL;
        found[strcspn(found, "\n")] = '\0';
        return found;
}

static bool group_read(unsigned pid, int version, char ret_group[1024])
{
        char path[64], text[4096];

        snprintf(path, sizeof path, "%s/%u/cgroup", proc(), pid);
        if (!text_read(path, text, sizeof text))
                return false;
        const char *line = group_line(text, version);
        /* Cut where it is too long: who is compared by it is cut likewise. */
        snprintf(ret_group, 1024, "%.1023s", line ? line : "");
        return line != NULL;
}

/* The last number of "NSpid: 4711 12": what the process calls itself. */
unsigned host_process_innermost(unsigned pid)
{
        char path[64], text[4096];

        snprintf(path, sizeof path, "%s/%u/status", proc(), pid);
        char *line = text_read(path, text, sizeof text) ? strstr(text, "\nNSpid:") : NULL;
        if (!line)
                return pid;
        line += strlen("\nNSpid:");
        char *end = line + strcspn(line, "\n");
        while (end > line && end[-1] >= '0' && end[-1] <= '9')
                end--;
        return (unsigned)strtoul(end, NULL, 10);
}

unsigned host_process_of_group(unsigned driver_pid, int version)
{
        char own[1024], theirs[1024];
        /* Where both are mounted (3), containers are told apart by version 2. */
        int used = version & 2 ? 2 : 1;

        if (!group_read(host_process_visible_self(), used, own) ||
            !group_read(driver_pid, used, theirs) || strcmp(own, theirs) != 0)
                return 0;
        return host_process_innermost(driver_pid);
}
