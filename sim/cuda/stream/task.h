/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: what work does to memory, run by one thread of the process in an order that the streams'
 * rules allow. */
#pragma once

#include <pthread.h>

#include "stream_state.h"

enum task_kind { TASK_RUN, TASK_HOST, TASK_POLL };
enum { TASK_DEPS = 8 };

struct task {
        struct task *next; /* in its stream */
        enum task_kind kind;
        uint64_t number;
        struct stream *stream;
        struct context *context;
        machine_ref op;
        uint64_t after; /* all tasks of the context up to this number first */
        struct {
                struct stream *stream;
                uint64_t task;
        } deps[TASK_DEPS];
        unsigned dep_count;
        CUresult (*run)(void *closure, uint64_t *ret_duration_ns);
        void (*call)(void *closure);
        bool (*is_due)(void *closure);
        void (*free)(void *closure);
        void *closure;
        bool is_duration_unknown;
};

/* Both are called with `lock` held. */
void task_push(struct task *task);
bool task_is_done(const struct stream *stream, uint64_t number);
/* Gives the task its number. */
uint64_t task_number(void);

/* Sleeps until the stream's tasks up to `number` have run. Called without the lock. */
void task_wait(struct stream *stream, uint64_t number);

/* True in a host function: who waits for the GPU there waits for himself. */
bool task_is_worker(void);

/* Attaches the process and starts the thread; `lock` guards streams and tasks from then on. */
CUresult task_start(pthread_mutex_t *lock);
