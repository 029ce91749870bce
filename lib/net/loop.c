/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop over epoll. */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"

struct loop {
        struct timer_heap timers;
        struct loop_task *tasks;
        int epoll_fd;
        bool is_stopped;
        uint8_t scratch[LOOP_SCRATCH_BYTES];
};

int loop_new(struct loop **ret_loop)
{
        struct loop *loop = calloc(1, sizeof *loop);

        if (!loop)
                return -ENOMEM;
        loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (loop->epoll_fd < 0) {
                const int r = -errno;

                free(loop);
                return r;
        }
        *ret_loop = loop;
        return 0;
}

void loop_free(struct loop *loop)
{
        if (!loop)
                return;
        close(loop->epoll_fd);
        free(loop);
}

/* Milliseconds to wait, rounded up: a turn too early would only wait again. */
static int wait_ms(const struct loop *loop, uint64_t wait_ns)
{
        uint64_t now_ns = clock_now_ns();
        uint64_t due_ns = timer_heap_due_ns(&loop->timers);
        uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;

        if (loop->tasks)
                return 0;
        if (left_ns > wait_ns)
                left_ns = wait_ns;
        if (left_ns == UINT64_MAX)
                return -1;
        if (left_ns > 3600 * NS_PER_S)
                left_ns = 3600 * NS_PER_S;
        return (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS);
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
        if (task->is_waiting)
                return;
        task->is_waiting = true;
        task->next = loop->tasks;
        loop->tasks = task;
}

/* A task may defer others, and free itself. */
static void run_tasks(struct loop *loop)
{
        while (loop->tasks) {
                struct loop_task *task = loop->tasks;

                loop->tasks = task->next;
                task->is_waiting = false;
                task->run(task);
        }
}

int loop_step(struct loop *loop, uint64_t wait_ns)
{
        struct epoll_event event;
        struct loop_watch *watch;
        int count;

        run_tasks(loop);
        timer_heap_run(&loop->timers, clock_now_ns());
        if (loop->is_stopped)
                return 0;
        count = epoll_wait(loop->epoll_fd, &event, 1, wait_ms(loop, wait_ns));
        if (count < 0)
                return errno == EINTR ? 0 : -errno;
        if (count > 0) {
                watch = event.data.ptr;
                watch->on_event(watch, event.events);
        }
        return 0;
}

int loop_run(struct loop *loop)
{
        int r = 0;

        loop->is_stopped = false;
        while (!loop->is_stopped && r == 0)
                r = loop_step(loop, UINT64_MAX);
        return r;
}

void loop_stop(struct loop *loop)
{
        loop->is_stopped = true;
}

int loop_watch_add(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events)
{
        struct epoll_event event = { .events = events, .data.ptr = watch };

        if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
                return -errno;
        watch->loop = loop;
        watch->fd = fd;
        watch->events = events;
        return 0;
}

int loop_watch_change(struct loop_watch *watch, uint32_t events)
{
        struct epoll_event event = { .events = events, .data.ptr = watch };

        if (events == watch->events)
                return 0;
        if (epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) < 0)
                return -errno;
        watch->events = events;
        return 0;
}

void loop_watch_remove(struct loop_watch *watch)
{
        if (!watch->loop)
                return;
        epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
        watch->loop = NULL;
}

void loop_timer_set(struct loop *loop, struct timer *timer, uint64_t delay_ns)
{
        timer_heap_set(&loop->timers, timer, clock_now_ns() + delay_ns);
}

void loop_timer_clear(struct loop *loop, struct timer *timer)
{
        timer_heap_clear(&loop->timers, timer);
}

uint8_t *loop_scratch(struct loop *loop)
{
        return loop->scratch;
}
