/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's side of the driver's thread: what it found, and whether it still moves. */
#include "gpu_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "gpu_probe.h"
#include "list.h"

enum { QUIET_MS = 60000, HANG_MS = 30000, POLL_MS = 1000, END_S = 3 };
/* A poll that is later than that: the whole process stood still, or the clock jumped. */
enum { LATE_MS = 3 * POLL_MS };

struct gpu_watch {
        struct loop *loop;
        struct gpu_watch_options options;
        struct gpu_probe probe;
        struct loop_watch news;
        struct timer poll;
        struct gpu_set set; /* as last reported */
        bool has_set, is_hanging;
        uint64_t polled_ns, woke_ns; /* the last time; and when it went on after it stood still */
};

static void apply_hang(const struct gpu_watch *watch, struct gpu_set *set)
{
        for (unsigned i = 0; watch->is_hanging && i < set->count; i++)
                set->gpus[i].is_healthy = false;
}

static void notify(struct gpu_watch *watch)
{
        struct gpu_set set = watch->set;

        apply_hang(watch, &set);
        if (watch->has_set)
                watch->options.on_change(watch->options.owner, &set);
}

static void take_news(struct gpu_watch *watch)
{
        struct err e;

        if (gpu_probe_take(&watch->probe, &watch->set, &e)) {
                watch->has_set = true;
                notify(watch);
        } else {
                watch->options.on_trouble(watch->options.owner, &e);
        }
}

static void on_news(struct loop_watch *news, uint32_t events)
{
        struct gpu_watch *watch = container_of(news, struct gpu_watch, news);
        uint64_t count;

        (void)events;
        if (read(news->fd, &count, sizeof count) != sizeof count)
                return;
        if (atomic_exchange(&watch->probe.has_news, false))
                take_news(watch);
        if (watch->options.on_sample)
                watch->options.on_sample(watch->options.owner);
}

static void on_poll(struct timer *timer)
{
        struct gpu_watch *watch = container_of(timer, struct gpu_watch, poll);
        const uint64_t now_ns = clock_now_ns(), beat_ns = gpu_probe_beat_ns(&watch->probe);

        if (now_ns - watch->polled_ns > LATE_MS * NS_PER_MS)
                watch->woke_ns = now_ns; /* the driver's thread was as silent as we were */
        watch->polled_ns = now_ns;
        const uint64_t heard_ns = beat_ns > watch->woke_ns ? beat_ns : watch->woke_ns;
        const uint64_t silent_ns = now_ns > heard_ns ? now_ns - heard_ns : 0;
        const bool is_hanging = silent_ns > watch->options.hang_ms * NS_PER_MS;

        if (is_hanging != watch->is_hanging) {
                watch->is_hanging = is_hanging;
                if (is_hanging) {
                        struct err e;

                        err_set(&e, -ETIMEDOUT, "the driver has not answered for %u s",
                                watch->options.hang_ms / 1000);
                        watch->options.on_trouble(watch->options.owner, &e);
                }
                notify(watch);
        }
        loop_timer_set(watch->loop, &watch->poll, POLL_MS * NS_PER_MS);
}

int gpu_watch_new(struct loop *loop, const struct gpu_watch_options *options,
                  struct gpu_watch **ret_watch)
{
        struct gpu_watch *watch = calloc(1, sizeof *watch);
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = !watch ? -ENOMEM : fd < 0 ? -errno : 0;

        if (r == 0) {
                watch->loop = loop;
                watch->options = *options;
                watch->options.quiet_ms = options->quiet_ms ?: QUIET_MS;
                watch->options.hang_ms = options->hang_ms ?: HANG_MS;
                watch->news.on_event = on_news;
                watch->poll.on_due = on_poll;
                watch->polled_ns = clock_now_ns();
                r = loop_watch_add(loop, &watch->news, fd, EPOLLIN);
        }
        if (r == 0)
                r = gpu_probe_start(&watch->probe, fd, options->exclude, watch->options.quiet_ms);
        if (r < 0) {
                if (watch)
                        loop_watch_remove(&watch->news);
                if (fd >= 0)
                        close(fd);
                free(watch);
                return r;
        }
        loop_timer_set(loop, &watch->poll, POLL_MS * NS_PER_MS);
        *ret_watch = watch;
        return 0;
}

bool gpu_watch_read(struct gpu_watch *watch, struct gpu_set *ret_set)
{
        struct err e;

        if (!gpu_probe_take(&watch->probe, ret_set, &e))
                return false;
        apply_hang(watch, ret_set);
        return true;
}

uint64_t gpu_watch_processes(struct gpu_watch *watch, struct vec *ret_processes)
{
        return gpu_probe_processes(&watch->probe, ret_processes);
}

void gpu_watch_quiet(struct gpu_watch *watch)
{
        if (!watch)
                return;
        loop_timer_clear(watch->loop, &watch->poll);
        loop_watch_remove(&watch->news);
}

void gpu_watch_free(struct gpu_watch *watch)
{
        if (!watch)
                return;
        gpu_watch_quiet(watch);
        if (!gpu_probe_stop(&watch->probe, END_S))
                return; /* the thread still uses it */
        close(watch->news.fd);
        free(watch);
}
