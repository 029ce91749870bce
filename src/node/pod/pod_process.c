/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of all processes' control groups, one after the other. */
#include "pod_process.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control_group.h"
#include "file.h"
#include "scope.h"
#include "str.h"

struct pod_processes {
        struct str groups;
};

bool pod_process_is_of(const char *cgroup, const char *pod_uid)
{
        char other[64];

        if (!*pod_uid)
                return false;
        if (strstr(cgroup, pod_uid))
                return true;
        str_copy(other, sizeof other, pod_uid);
        for (char *p = other; *p; p++)
                if (*p == '-')
                        *p = '_';
        return strstr(cgroup, other) != NULL;
}

/* Of processes outside all pods there is nothing to keep. */
static int group_add(struct str *groups, const char *pid)
{
        autofree char *text = NULL;
        char path[64];

        snprintf(path, sizeof path, "/proc/%.20s/cgroup", pid);
        if (file_read(path, &text) < 0) /* it has ended meanwhile */
                return 0;
        if (!strstr(text, "pod") || control_group_is_left(text))
                return 0;
        /* Processes of one container follow each other, mostly: once is enough. */
        const size_t length = strlen(text);
        if (groups->length >= length &&
            memcmp(groups->text + groups->length - length, text, length) == 0)
                return 0;
        return str_append_bytes(groups, text, length);
}

struct pod_processes *pod_processes_read(void)
{
        struct pod_processes *processes = calloc(1, sizeof *processes);
        DIR *directory = processes ? opendir("/proc") : NULL;
        struct dirent *entry;
        int r = directory ? 0 : -1;

        while (r == 0 && (entry = readdir(directory)))
                if (isdigit((unsigned char)entry->d_name[0]))
                        r = group_add(&processes->groups, entry->d_name);
        if (directory)
                closedir(directory);
        if (r == 0)
                return processes;
        pod_processes_free(processes);
        return NULL;
}

bool pod_processes_have(const struct pod_processes *processes, const char *pod_uid)
{
        return processes->groups.text && pod_process_is_of(processes->groups.text, pod_uid);
}

void pod_processes_free(struct pod_processes *processes)
{
        if (!processes)
                return;
        str_done(&processes->groups);
        free(processes);
}
