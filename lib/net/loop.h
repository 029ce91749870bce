/* SPDX-License-Identifier: Apache-2.0 */
/* loop: one thread waits for everything: descriptors, timers, signals, children.
 *
 * One event per turn: a callback may remove and free whatever it likes, itself included, because
 * nothing is left over from the turn that could still point to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "timer.h"

struct loop;

int loop_new(struct loop **ret_loop); /* 0 or a negative errno */
void loop_free(struct loop *loop);    /* NULL is fine; what is still watched is forgotten */

/* Turns until loop_stop(). */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* One turn: due timers, then at most one event, for which it waits no longer than wait_ns. */
int loop_step(struct loop *loop, uint64_t wait_ns);

/* A descriptor and the EPOLL… events that it is watched for. Embedded by its owner; zeroed is fine.
 * EPOLLERR and EPOLLHUP are always told. */
struct loop_watch {
        void (*on_event)(struct loop_watch *watch, uint32_t events);
        struct loop *loop; /* NULL: not watched */
        int fd;
        uint32_t events;
};

int loop_watch_add(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events);
int loop_watch_change(struct loop_watch *watch, uint32_t events);
void loop_watch_remove(struct loop_watch *watch); /* before its descriptor is closed */

/* From now. */
void loop_timer_set(struct loop *loop, struct timer *timer, uint64_t delay_ns);
void loop_timer_clear(struct loop *loop, struct timer *timer);

/* Something to do in the next turn, with no caller on the stack. Embedded, zeroed; once per call. */
struct loop_task {
        void (*run)(struct loop_task *task);
        struct loop_task *next;
        bool is_waiting;
};
void loop_defer(struct loop *loop, struct loop_task *task);

/* One place to read into, for whoever has the turn. */
enum { LOOP_SCRATCH_BYTES = 16384 };
uint8_t *loop_scratch(struct loop *loop);
