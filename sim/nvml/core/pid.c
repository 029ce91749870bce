/* SPDX-License-Identifier: Apache-2.0 */
/* pid: looks a process of an inner namespace up in the caller's /proc. */
#include "pid.h"

#include <dirent.h>
#include <stdbool.h>
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

/* The last number of "NSpid: 4711 12 1": what the process calls itself; *depth: how many there are. */
static int innermost_pid(const char *proc, const char *proc_pid, unsigned *depth)
{
        autofree char *status = NULL;
        char path[256], *line, *end;
        long last = 0;

        *depth = 0;
        snprintf(path, sizeof path, "%.200s/%.20s/status", proc, proc_pid);
        if (file_read(path, &status) < 0 || !(line = strstr(status, "\nNSpid:")))
                return 0;
        line += strlen("\nNSpid:");
        for (; *line == ' ' || *line == '\t'; line = end) {
                last = strtol(line, &end, 10);
                if (end == line)
                        break;
                (*depth)++;
        }
        return (int)last;
}

/* Is the process of the slot's pid namespace? Two that begin in the same tick, each as the first of its
 * own, are told apart by nothing else. Where it cannot be seen, it may be. */
static bool is_of_namespace(const char *proc, const char *proc_pid, const struct machine_slot *slot)
{
        char path[256];
        struct stat st;

        snprintf(path, sizeof path, "%.200s/%.20s/ns/pid", proc, proc_pid);
        return !slot->pid_namespace || stat(path, &st) < 0 ||
               (uint64_t)st.st_ino == slot->pid_namespace;
}

/* The process's entry in a /proc; `is_nested`: it is known to live in an inner namespace. */
static unsigned proc_find(const char *path, const struct machine_slot *slot, bool is_nested)
{
        DIR *proc = opendir(path);
        unsigned found = 0, depth;

        for (struct dirent *entry; proc && !found && (entry = readdir(proc));) {
                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                unsigned pid = (unsigned)strtoul(entry->d_name, NULL, 10);
                /* The namespace costs the least to ask, and leaves few. */
                if (is_of_namespace(path, entry->d_name, slot) &&
                    innermost_pid(path, entry->d_name, &depth) == slot->pid &&
                    (depth > 1 || !is_nested) &&
                    process_start_time_in(path, (pid_t)pid) == slot->start_time)
                        found = pid;
        }
        if (proc)
                closedir(proc);
        return found;
}

unsigned pid_of(const struct machine_slot *slot)
{
        const char *host = getenv("VGPU_SIM_PROC");
        uint64_t own = namespace_of_caller();

        if (host && *host)
                return proc_find(host, slot, false);
        if (!slot->pid_namespace || !own || slot->pid_namespace == own)
                return (unsigned)slot->pid;
        return proc_find("/proc", slot, true);
}
