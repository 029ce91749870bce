/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of loop: descriptors, timers, signals; removal from inside a callback. */
#include "loop.h"

#include <signal.h>
#include <unistd.h>

#include "clock.h"
#include "list.h"
#include "loop_process.h"
#include "unit.h"

struct pair {
        struct loop_watch watches[2];
        unsigned calls;
        int fds[2], others[2];
};

static int pair_fd; /* of the first watch */

static void on_readable(struct loop_watch *watch, uint32_t events)
{
        struct pair *pair = watch->fd == pair_fd ? container_of(watch, struct pair, watches[0])
                                                 : container_of(watch, struct pair, watches[1]);

        CHECK(events & EPOLLIN);
        pair->calls++;
        loop_watch_remove(&pair->watches[1]);
        loop_watch_remove(&pair->watches[0]);
}

TEST(a_callback_may_remove_every_watch)
{
        struct pair pair = { 0 };
        struct loop *loop;

        CHECK_EQ(loop_new(&loop), 0);
        CHECK_EQ(pipe(pair.fds), 0);
        CHECK_EQ(pipe(pair.others), 0);
        pair_fd = pair.fds[0];
        pair.watches[0].on_event = pair.watches[1].on_event = on_readable;
        CHECK_EQ(loop_watch_add(loop, &pair.watches[0], pair.fds[0], EPOLLIN), 0);
        CHECK_EQ(loop_watch_add(loop, &pair.watches[1], pair.others[0], EPOLLIN), 0);
        CHECK_EQ(write(pair.others[1], "x", 1), 1);
        CHECK_EQ(write(pair.fds[1], "x", 1), 1);
        CHECK_EQ(loop_step(loop, NS_PER_S), 0);
        CHECK_EQ(loop_step(loop, 0), 0);
        CHECK_EQ(pair.calls, 1);
        close(pair.others[0]);
        close(pair.others[1]);
        close(pair.fds[0]);
        close(pair.fds[1]);
        loop_free(loop);
}

struct clockwork {
        struct timer timer;
        struct loop_task task;
        struct loop *loop;
        unsigned ticks;
        bool has_run;
};

static void on_tick(struct timer *timer)
{
        struct clockwork *clockwork = container_of(timer, struct clockwork, timer);

        if (++clockwork->ticks == 3)
                loop_defer(clockwork->loop, &clockwork->task);
        else
                loop_timer_set(clockwork->loop, timer, NS_PER_MS);
}

static void on_task(struct loop_task *task)
{
        struct clockwork *clockwork = container_of(task, struct clockwork, task);

        clockwork->has_run = true;
        loop_stop(clockwork->loop);
}

TEST(timers_and_tasks_are_run_in_steps)
{
        struct clockwork clockwork = { .timer.on_due = on_tick, .task.run = on_task };
        uint64_t began_ns = clock_now_ns();

        CHECK_EQ(loop_new(&clockwork.loop), 0);
        loop_timer_set(clockwork.loop, &clockwork.timer, NS_PER_MS);
        CHECK_EQ(loop_run(clockwork.loop), 0);
        CHECK_EQ(clockwork.ticks, 3);
        CHECK(clockwork.has_run);
        CHECK(clock_now_ns() - began_ns >= 3 * NS_PER_MS);
        loop_free(clockwork.loop);
}

struct listener {
        struct loop_signals signals;
        struct loop *loop;
        int signal;
};

static void on_signal(struct loop_signals *signals, int number)
{
        struct listener *listener = container_of(signals, struct listener, signals);

        listener->signal = number;
        loop_stop(listener->loop);
}

TEST(signals_are_events)
{
        struct listener listener = { .signals.on_signal = on_signal };
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        CHECK_EQ(loop_new(&listener.loop), 0);
        CHECK_EQ(loop_signals_open(listener.loop, &listener.signals, &set), 0);
        CHECK_EQ(kill(getpid(), SIGUSR1), 0);
        CHECK_EQ(listener.signal, 0);
        CHECK_EQ(loop_run(listener.loop), 0);
        CHECK_EQ(listener.signal, SIGUSR1);
        loop_signals_close(&listener.signals);
        loop_free(listener.loop);
}

int main(void)
{
        return RUN(CASE(a_callback_may_remove_every_watch), CASE(timers_and_tasks_are_run_in_steps),
                   CASE(signals_are_events));
}
