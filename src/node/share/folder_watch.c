/* SPDX-License-Identifier: Apache-2.0 */
/* Folders by inotify. */
#include "folder_watch.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "clock.h"
#include "list.h"

enum { REPEAT_MS = 5000 };

static void mark(struct folder_watch *watch)
{
        watch->mark = inotify_add_watch(watch->events.fd, watch->path,
                                        IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM |
                                                IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

/* What happened in detail does not matter, not even if notices were lost: the caller reads the folder. */
static void on_notice(struct loop_watch *events, uint32_t ready)
{
        struct folder_watch *watch = container_of(events, struct folder_watch, events);

        (void)ready;
        while (read(events->fd, loop_scratch(watch->loop), LOOP_SCRATCH_BYTES) > 0)
                ;
        mark(watch); /* the same folder again, or the new one of that name */
        watch->on_change(watch);
}

static void on_repeat(struct timer *timer)
{
        struct folder_watch *watch = container_of(timer, struct folder_watch, repeat);

        mark(watch);
        watch->on_change(watch);
        loop_timer_set(watch->loop, &watch->repeat, REPEAT_MS * NS_PER_MS);
}

int folder_watch_open(struct loop *loop, struct folder_watch *watch)
{
        int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        int r;

        if (fd < 0)
                return -errno;
        watch->loop = loop;
        watch->events.on_event = on_notice;
        watch->repeat.on_due = on_repeat;
        r = loop_watch_add(loop, &watch->events, fd, EPOLLIN);
        if (r < 0) {
                close(fd);
                return r;
        }
        mark(watch);
        loop_timer_set(loop, &watch->repeat, REPEAT_MS * NS_PER_MS);
        return 0;
}

void folder_watch_soon(struct folder_watch *watch, uint64_t delay_ns)
{
        loop_timer_set(watch->loop, &watch->repeat, delay_ns);
}

void folder_watch_close(struct folder_watch *watch)
{
        if (!watch->events.loop)
                return;
        loop_timer_clear(watch->loop, &watch->repeat);
        loop_watch_remove(&watch->events);
        close(watch->events.fd);
}
