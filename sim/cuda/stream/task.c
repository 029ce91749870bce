/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: the one thread of the simulator in a process. It also holds the process's slot, so
 * that the machine learns of the process's death from the kernel. */
#include "task.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slot.h"

static struct {
        pthread_mutex_t *lock;
        pthread_cond_t added, ran;
        struct stream *busy; /* streams that have tasks, by busy_next */
        uint64_t number;
        unsigned waiters;
        bool is_idle; /* the worker sleeps until `added` */
        int attach_result;
        bool is_attached;
} worker = {
        .added = PTHREAD_COND_INITIALIZER,
        .ran = PTHREAD_COND_INITIALIZER,
};

uint64_t task_number(void)
{
        return ++worker.number;
}

bool task_is_done(const struct stream *stream, uint64_t number)
{
        return atomic_load_explicit(&stream->task_done, memory_order_acquire) >= number;
}

void task_push(struct task *task)
{
        struct stream *stream = task->stream;

        task->next = NULL;
        if (stream->first) {
                stream->end->next = task;
        } else {
                stream->first = task;
                stream->busy_next = worker.busy;
                worker.busy = stream;
        }
        stream->end = task;
        if (worker.is_idle)
                pthread_cond_signal(&worker.added);
}

void task_wait(struct stream *stream, uint64_t number)
{
        if (task_is_done(stream, number))
                return;
        pthread_mutex_lock(worker.lock);
        worker.waiters++;
        while (!task_is_done(stream, number))
                pthread_cond_wait(&worker.ran, worker.lock);
        worker.waiters--;
        pthread_mutex_unlock(worker.lock);
}

/* No task of the context with a number up to task->after is left. */
static bool task_is_first(const struct task *task)
{
        for (const struct stream *s = worker.busy; s; s = s->busy_next)
                if (s->first != task && s->first->context == task->context &&
                    s->first->number <= task->after)
                        return false;
        return true;
}

static bool task_is_ready(const struct task *task)
{
        for (unsigned i = 0; i < task->dep_count; i++)
                if (!task_is_done(task->deps[i].stream, task->deps[i].task))
                        return false;
        return !task->after || task_is_first(task);
}

/* A ready task that can run now, or NULL and how long to sleep (0: until one is added). */
static struct task *worker_pick(uint64_t *ret_nap_ns)
{
        uint64_t nap_ns = 0;

        for (struct stream *s = worker.busy; s; s = s->busy_next) {
                struct task *task = s->first;
                if (!task_is_ready(task))
                        continue;
                if (task->kind == TASK_RUN)
                        return task;
                if (timeline_host_is_due(&driver.machine, task->op) &&
                    (task->kind == TASK_HOST || task->is_due(task->closure)))
                        return task;
                uint64_t left_ns = timeline_left_ns(&driver.machine, task->op);
                if (left_ns < 50000)
                        left_ns = 50000;
                if (left_ns > 1000000)
                        left_ns = 1000000;
                if (!nap_ns || left_ns < nap_ns)
                        nap_ns = left_ns;
        }
        *ret_nap_ns = nap_ns;
        return NULL;
}

static void worker_nap(uint64_t nap_ns)
{
        struct timespec until;

        worker.is_idle = true;
        if (nap_ns == 0) {
                pthread_cond_wait(&worker.added, worker.lock);
        } else {
                clock_gettime(CLOCK_REALTIME, &until);
                until.tv_nsec += (long)nap_ns;
                until.tv_sec += until.tv_nsec / 1000000000;
                until.tv_nsec %= 1000000000;
                pthread_cond_timedwait(&worker.added, worker.lock, &until);
        }
        worker.is_idle = false;
}

static void task_run(struct task *task)
{
        uint64_t duration_ns = 0;

        if (task->kind == TASK_RUN) {
                CUresult r = task->run(task->closure, &duration_ns);
                int none = CUDA_SUCCESS;
                if (r != CUDA_SUCCESS)
                        atomic_compare_exchange_strong(&task->context->error, &none, (int)r);
                if (task->is_duration_unknown)
                        timeline_set_duration(&driver.machine, task->op, duration_ns);
                return;
        }
        if (task->kind == TASK_HOST)
                task->call(task->closure);
        timeline_end_host(&driver.machine, task->op);
}

static void worker_finish(struct task *task)
{
        struct stream *stream = task->stream;

        stream->first = task->next;
        if (!stream->first) {
                struct stream **link = &worker.busy;
                while (*link != stream)
                        link = &(*link)->busy_next;
                *link = stream->busy_next;
                stream->end = NULL;
        }
        atomic_store_explicit(&stream->task_done, task->number, memory_order_release);
        if (worker.waiters)
                pthread_cond_broadcast(&worker.ran);
}

static void worker_attach(void)
{
        int r = slot_attach(&driver.machine, &driver.slot);

        pthread_mutex_lock(worker.lock);
        worker.attach_result = r;
        worker.is_attached = true;
        pthread_cond_broadcast(&worker.ran);
        pthread_mutex_unlock(worker.lock);
}

static _Thread_local bool is_worker;

bool task_is_worker(void)
{
        return is_worker;
}

static void *worker_main(void *unused)
{
        (void)unused;
        is_worker = true;
        worker_attach();
        pthread_mutex_lock(worker.lock);
        while (worker.attach_result == 0) {
                uint64_t nap_ns;
                struct task *task = worker_pick(&nap_ns);
                if (!task) {
                        worker_nap(nap_ns);
                        continue;
                }
                pthread_mutex_unlock(worker.lock);
                task_run(task);
                pthread_mutex_lock(worker.lock);
                worker_finish(task);
                pthread_mutex_unlock(worker.lock);
                if (task->free)
                        task->free(task->closure);
                free(task);
                pthread_mutex_lock(worker.lock);
        }
        pthread_mutex_unlock(worker.lock);
        return NULL;
}

CUresult task_start(pthread_mutex_t *lock)
{
        sigset_t all, before;
        pthread_t thread;

        worker.lock = lock;
        worker.is_attached = false;
        /* The program's signals are not for our thread. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int r = pthread_create(&thread, NULL, worker_main, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r)
                return CUDA_ERROR_OPERATING_SYSTEM;
        pthread_detach(thread);

        pthread_mutex_lock(lock);
        while (!worker.is_attached)
                pthread_cond_wait(&worker.ran, lock);
        r = worker.attach_result;
        pthread_mutex_unlock(lock);
        if (r)
                driver_say("cannot join the machine: %s", strerror(-r));
        if (r == -ENOSPC || r == -ENOMEM)
                return CUDA_ERROR_OUT_OF_MEMORY;
        return r ? CUDA_ERROR_SYSTEM_NOT_READY : CUDA_SUCCESS;
}
