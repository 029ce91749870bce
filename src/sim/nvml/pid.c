/* pid: looks a process of an inner namespace up in the caller's /proc. */
#include "pid.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "process.h"
#include "scope.h"

static uint64_t namespace_of_caller(void)
{
        struct stat st;

        return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* The last number of "NSpid: 4711 12 1": what the process calls itself. 0 when it is not nested. */
static int innermost_pid(const char *proc_pid)
{
        autofree char *status = NULL;
        char path[64], *line, *end;
        long last = 0;
        unsigned depth = 0;

        snprintf(path, sizeof path, "/proc/%.20s/status", proc_pid);
        if (file_read(path, &status) < 0 || !(line = strstr(status, "\nNSpid:")))
                return 0;
        line += strlen("\nNSpid:");
        for (; *line == ' ' || *line == '\t'; line = end) {
                last = strtol(line, &end, 10);
                if (end == line)
                        break;
                depth++;
        }
        return depth > 1 ? (int)last : 0;
}

unsigned pid_of(const struct machine_slot *slot)
{
        uint64_t own = namespace_of_caller();
        unsigned found = 0;

        if (!slot->pid_namespace || !own || slot->pid_namespace == own)
                return (unsigned)slot->pid;
        DIR *proc = opendir("/proc");
        for (struct dirent *entry; proc && !found && (entry = readdir(proc));) {
                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                unsigned pid = (unsigned)strtoul(entry->d_name, NULL, 10);
                if (innermost_pid(entry->d_name) == slot->pid &&
                    process_start_time((pid_t)pid) == slot->start_time)
                        found = pid;
        }
        if (proc)
                closedir(proc);
        return found;
}
