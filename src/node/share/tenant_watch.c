/* SPDX-License-Identifier: Apache-2.0 */
/* By inotify. After each check there is a pause: who writes without end keeps us busy for a small part of the time only,
 * and adds what fits into the pause. */
#include "tenant_watch.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "clock.h"

enum { PAUSE_MS = 5 };

static void mark_note(struct tenant_watch *watch, int mark)
{
        LIST_EACH (link, &watch->tenants) {
                struct watched_tenant *tenant = container_of(link, struct watched_tenant, link);

                for (unsigned i = 0; i < TENANT_FILES; i++)
                        tenant->is_written |= tenant->marks[i] == mark;
        }
}

/* Events carry no names: the files are marked themselves. */
static void notices_read(struct tenant_watch *watch)
{
        uint8_t *bytes = loop_scratch(watch->loop);
        const ssize_t length = read(watch->events.fd, bytes, LOOP_SCRATCH_BYTES);

        for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= length;) {
                const struct inotify_event *event = (const struct inotify_event *)(bytes + at);

                mark_note(watch, event->wd);
                at += (ssize_t)(sizeof *event + event->len);
        }
}

static void on_notice(struct loop_watch *events, uint32_t ready)
{
        struct tenant_watch *watch = container_of(events, struct tenant_watch, events);

        (void)ready;
        notices_read(watch);
        LIST_EACH (link, &watch->tenants) {
                struct watched_tenant *tenant = container_of(link, struct watched_tenant, link);

                if (tenant->is_written)
                        tenant->cut_bytes += tenant_files_cut(tenant->share_path);
                tenant->is_written = false;
        }
        loop_watch_change(events, 0);
        loop_timer_set(watch->loop, &watch->pause, PAUSE_MS * NS_PER_MS);
}

static void on_pause(struct timer *timer)
{
        loop_watch_change(&container_of(timer, struct tenant_watch, pause)->events, EPOLLIN);
}

int tenant_watch_open(struct loop *loop, struct tenant_watch *watch)
{
        const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

        list_init(&watch->tenants);
        if (fd < 0)
                return -errno;
        watch->loop = loop;
        watch->events.on_event = on_notice;
        watch->pause.on_due = on_pause;
        const int r = loop_watch_add(loop, &watch->events, fd, EPOLLIN);
        if (r < 0)
                close(fd);
        return r;
}

void tenant_watch_close(struct tenant_watch *watch)
{
        if (!watch->events.loop)
                return;
        loop_timer_clear(watch->loop, &watch->pause);
        loop_watch_remove(&watch->events);
        close(watch->events.fd);
}

int tenant_watch_add(struct tenant_watch *watch, struct watched_tenant *tenant,
                     const char *share_path)
{
        int r = 0;

        tenant->share_path = share_path;
        list_append(&watch->tenants, &tenant->link);
        for (unsigned i = 0; i < TENANT_FILES; i++) {
                char path[SHARE_TEXT];

                tenant->marks[i] = -1;
                tenant_files_path(share_path, i, path);
                if (watch->events.loop)
                        tenant->marks[i] = inotify_add_watch(watch->events.fd, path,
                                                             IN_MODIFY | IN_DONT_FOLLOW);
                if (tenant->marks[i] < 0)
                        r = watch->events.loop ? -errno : -EMFILE;
        }
        return r;
}

void tenant_watch_remove(struct tenant_watch *watch, struct watched_tenant *tenant)
{
        for (unsigned i = 0; i < TENANT_FILES; i++)
                if (tenant->marks[i] >= 0)
                        inotify_rm_watch(watch->events.fd, tenant->marks[i]);
        list_remove(&tenant->link);
}

uint64_t tenant_watch_take(struct watched_tenant *tenant, const char *share_path)
{
        const uint64_t cut = tenant->cut_bytes + tenant_files_cut(share_path);

        tenant->cut_bytes = 0;
        return cut;
}
