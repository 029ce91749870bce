/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_watch: cuts what a container adds to the files that it can write, as soon as it does. Between two samples of a
 * second it could fill the file system otherwise. What our programs write goes through mappings, and rings nothing. */
#pragma once

#include "list.h"
#include "loop.h"
#include "tenant_files.h"

struct tenant_watch {
        struct loop_watch events;
        struct timer pause;
        struct loop *loop;
        struct list tenants;
};

/* Embedded by who reports it. */
struct watched_tenant {
        struct list link;
        const char *share_path;
        int marks[TENANT_FILES]; /* inotify's; −1: not watched */
        uint64_t cut_bytes;      /* not reported yet */
        bool is_written;
};

int tenant_watch_open(struct loop *loop, struct tenant_watch *watch);
void tenant_watch_close(
        struct tenant_watch *watch); /* without tenants; one that was not opened is fine */
/* < 0: not all of its files are watched. */
int tenant_watch_add(struct tenant_watch *watch, struct watched_tenant *tenant,
                     const char *share_path);
void tenant_watch_remove(struct tenant_watch *watch, struct watched_tenant *tenant);
/* What was cut since the last call, and what there is to cut now. */
uint64_t tenant_watch_take(struct watched_tenant *tenant, const char *share_path);
