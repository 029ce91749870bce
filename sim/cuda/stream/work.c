/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and the work on them: from a call to an operation on the time axis and a task. */
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_print.h"
#include "stamp.h"
#include "task.h"
#include "work_lock.h"

pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;

CUresult work_start(void)
{
        return task_start(&work_lock);
}

/* What an operation must wait for, on the time axis. More than fit are joined by one of no length. */
struct deps {
        machine_ref refs[MACHINE_DEPS];
        unsigned count;
        struct device *device;
};

static machine_ref deps_join(struct deps *deps)
{
        struct timeline_op op = { .engine = ENGINE_IN };
        machine_ref ref = 0;

        memcpy(op.deps, deps->refs, sizeof op.deps);
        stamp_save(deps->device, ENGINE_IN);
        timeline_submit(&driver.machine, deps->device->channel, &op, &ref);
        return ref;
}

static void deps_add(struct deps *deps, machine_ref ref)
{
        if (timeline_was_done(&driver.machine, ref))
                return;
        if (deps->count == MACHINE_DEPS) {
                machine_ref joined = deps_join(deps);
                memset(deps->refs, 0, sizeof deps->refs);
                deps->refs[0] = joined;
                deps->count = 1;
        }
        deps->refs[deps->count++] = ref;
}

static bool stream_is_blocking(const struct stream *stream)
{
        return !(stream->flags & CU_STREAM_NON_BLOCKING) && !stream->is_legacy;
}

/* The rules of streams: after its own last work, what it was told to wait for, and, unless
 * non-blocking, the context's legacy stream (which in turn waits for all blocking ones). */
static void deps_gather(struct deps *deps, struct stream *stream)
{
        struct context *context = stream->context;

        deps_add(deps, stream->last.op);
        for (unsigned i = 0; i < stream->wait_count; i++)
                deps_add(deps, stream->waits[i].op);
        if (stream_is_blocking(stream))
                deps_add(deps, context->legacy->last.op);
        if (!stream->is_legacy)
                return;
        for (struct stream *s = context->streams; s; s = s->next)
                if (stream_is_blocking(s))
                        deps_add(deps, s->last.op);
}

static void task_dep(struct task *task, struct stream *stream, uint64_t number)
{
        if (!stream || task_is_done(stream, number))
                return;
        if (task->dep_count == TASK_DEPS) {
                task->after = task->number; /* too many to name: all that came before */
                return;
        }
        task->deps[task->dep_count].stream = stream;
        task->deps[task->dep_count++].task = number;
}

static void task_gather(struct task *task, struct stream *stream)
{
        struct context *context = stream->context;

        for (unsigned i = 0; i < stream->wait_count; i++)
                task_dep(task, stream->waits[i].stream, stream->waits[i].task);
        if (stream_is_blocking(stream))
                task_dep(task, context->legacy, context->legacy->last.task);
        if (!stream->is_legacy)
                return;
        for (struct stream *s = context->streams; s; s = s->next)
                if (stream_is_blocking(s))
                        task_dep(task, s, s->last.task);
}

/* Keeps the functional order of work that only takes time: a later task of this stream must still
 * come after what it waited for. */
static bool waits_have_tasks(const struct stream *stream)
{
        for (unsigned i = 0; i < stream->wait_count; i++)
                if (stream->waits[i].stream &&
                    !task_is_done(stream->waits[i].stream, stream->waits[i].task))
                        return true;
        return false;
}

static CUresult run_nothing(void *closure, uint64_t *ret_duration_ns)
{
        (void)closure;
        *ret_duration_ns = 0;
        return CUDA_SUCCESS;
}

void work_drop_waits(struct stream *stream)
{
        for (unsigned i = 0; i < stream->wait_count; i++)
                stamp_drop(stream->waits[i].stamp);
        stream->wait_count = 0;
}

static CUresult result_of(int r)
{
        return r == -ENODEV ? CUDA_ERROR_DEVICE_UNAVAILABLE : CUDA_ERROR_UNKNOWN;
}

/* Takes the lock with space in the queue: a full queue is waited for without it. */
static CUresult lock_with_capacity(struct stream *stream, enum machine_engine engine)
{
        uint32_t channel = stream->context->device->channel;

        for (;;) {
                pthread_mutex_lock(&work_lock);
                if (timeline_has_capacity(&driver.machine, channel, engine))
                        return CUDA_SUCCESS;
                pthread_mutex_unlock(&work_lock);
                int r = timeline_wait_capacity(&driver.machine, channel, engine);
                if (r < 0)
                        return result_of(r);
        }
}

/* The lock is held. `task` may be NULL: the work only takes time. */
static CUresult submit_locked(struct stream *stream, const struct timeline_op *shape,
                              struct task *task, struct mark *ret_mark)
{
        struct device *device = stream->context->device;
        struct deps deps = { .device = device };
        struct timeline_op op = *shape;
        machine_ref ref;

        deps_gather(&deps, stream);
        memcpy(op.deps, deps.refs, sizeof op.deps);
        stamp_save(device, op.engine);
        int r = timeline_submit(&driver.machine, device->channel, &op, &ref);
        if (r < 0)
                return result_of(r);
        stream->last.op = ref;
        if (task) {
                task->op = ref;
                task->stream = stream;
                task->context = stream->context;
                task->number = task_number();
                task_gather(task, stream);
                stream->last.task = task->number;
                task_push(task);
        }
        work_drop_waits(stream);
        if (ret_mark) {
                *ret_mark = (struct mark){ .op = ref,
                                           .stream = stream,
                                           .task = stream->last.task,
                                           .stamp = stamp_take(device, ref) };
        }
        return CUDA_SUCCESS;
}

static struct task *task_new(enum task_kind kind, void (*drop)(void *), void *closure)
{
        struct task *task = calloc(1, sizeof *task);

        if (task) {
                task->kind = kind;
                task->free = drop;
                task->closure = closure;
        }
        return task;
}

static CUresult submit(struct stream *stream, const struct timeline_op *op, struct task *task,
                       struct mark *ret_mark)
{
        CUresult r = lock_with_capacity(stream, op->engine);

        if (r == CUDA_SUCCESS) {
                if (!task && waits_have_tasks(stream)) {
                        task = task_new(TASK_RUN, NULL, NULL);
                        if (task)
                                task->run = run_nothing;
                        else
                                r = CUDA_ERROR_OUT_OF_MEMORY;
                }
                if (r == CUDA_SUCCESS)
                        r = submit_locked(stream, op, task, ret_mark);
                pthread_mutex_unlock(&work_lock);
        }
        if (r != CUDA_SUCCESS && task) {
                if (task->free)
                        task->free(task->closure);
                free(task);
        }
        return r;
}

CUresult work_submit(struct stream *stream, const struct work *work, struct mark *ret_mark)
{
        struct timeline_op op = {
                .engine = work->engine,
                .delay_ns = work->delay_ns,
                .duration_ns = work->duration_ns,
        };
        struct task *task = NULL;

        if (work->run) {
                task = task_new(TASK_RUN, work->free, work->closure);
                if (!task) {
                        if (work->free)
                                work->free(work->closure);
                        return CUDA_ERROR_OUT_OF_MEMORY;
                }
                task->run = work->run;
                task->is_duration_unknown = work->duration_ns == MACHINE_NS_UNKNOWN;
        }
        return submit(stream, &op, task, ret_mark);
}

CUresult work_submit_host(struct stream *stream, void (*call)(void *closure), void *closure,
                          struct mark *ret_mark)
{
        struct timeline_op op = { .engine = ENGINE_HOST };
        struct task *task = task_new(TASK_HOST, NULL, closure);

        if (!task)
                return CUDA_ERROR_OUT_OF_MEMORY;
        task->call = call;
        return submit(stream, &op, task, ret_mark);
}

CUresult work_submit_poll(struct stream *stream, bool (*is_due)(void *closure),
                          void (*drop)(void *), void *closure)
{
        struct timeline_op op = { .engine = ENGINE_HOST };
        struct task *task = task_new(TASK_POLL, drop, closure);

        if (!task) {
                if (drop)
                        drop(closure);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        task->is_due = is_due;
        return submit(stream, &op, task, NULL);
}

static bool stream_is_pending(const struct stream *stream)
{
        return !timeline_was_done(&driver.machine, stream->last.op) ||
               (stream->last.task && !task_is_done(stream, stream->last.task));
}

/* The streams that the next work here would wait for by themselves. The lock is held. */
static bool others_are_pending(const struct stream *stream)
{
        if (stream_is_blocking(stream))
                return stream_is_pending(stream->context->legacy);
        if (!stream->is_legacy)
                return false;
        for (struct stream *s = stream->context->streams; s; s = s->next)
                if (stream_is_blocking(s) && stream_is_pending(s))
                        return true;
        return false;
}

/* The stream's newest point is more than its own last work: an operation of no length must carry
 * what it waits for. */
static bool stream_needs_join(struct stream *stream)
{
        pthread_mutex_lock(&work_lock);
        bool needs = stream->wait_count || others_are_pending(stream);
        pthread_mutex_unlock(&work_lock);
        return needs;
}

void work_mark(struct stream *stream, struct mark *ret_mark)
{
        struct work join = { .engine = ENGINE_IN, .run = run_nothing };

        if (stream_needs_join(stream) && work_submit(stream, &join, ret_mark) == CUDA_SUCCESS)
                return;
        pthread_mutex_lock(&work_lock);
        struct mark mark = { .stream = stream, .task = stream->last.task };
        if (timeline_was_done(&driver.machine, stream->last.op)) {
                mark.time_ns = machine_now_ns(&driver.machine);
        } else {
                mark.op = stream->last.op;
                mark.stamp = stamp_take(stream->context->device, mark.op);
        }
        pthread_mutex_unlock(&work_lock);
        *ret_mark = mark;
}

CUresult work_join(struct stream *stream, const struct mark *mark)
{
        CUresult r = CUDA_SUCCESS;

        pthread_mutex_lock(&work_lock);
        if (stream->wait_count == stream->wait_capacity) {
                unsigned capacity = stream->wait_capacity ? stream->wait_capacity * 2 : 4;
                struct mark *waits = realloc(stream->waits, capacity * sizeof *waits);
                if (!waits) {
                        r = CUDA_ERROR_OUT_OF_MEMORY;
                } else {
                        stream->waits = waits;
                        stream->wait_capacity = capacity;
                }
        }
        if (r == CUDA_SUCCESS) {
                if (mark->stamp)
                        mark->stamp->references++;
                stream->waits[stream->wait_count++] = *mark;
        }
        pthread_mutex_unlock(&work_lock);
        return r;
}

void mark_copy(struct mark *to, const struct mark *from)
{
        pthread_mutex_lock(&work_lock);
        if (from->stamp)
                from->stamp->references++;
        *to = *from;
        pthread_mutex_unlock(&work_lock);
}

void mark_done(struct mark *mark)
{
        if (mark->stamp) {
                pthread_mutex_lock(&work_lock);
                stamp_drop(mark->stamp);
                pthread_mutex_unlock(&work_lock);
        }
        *mark = (struct mark){ 0 };
}

static bool mark_has_run(const struct mark *mark)
{
        return !mark->task || task_is_done(mark->stream, mark->task);
}

bool mark_is_passed(struct mark *mark)
{
        return mark_has_run(mark) && timeline_is_done(&driver.machine, mark->op);
}

static CUresult mark_error(const struct mark *mark)
{
        struct context *context = mark->stream ? mark->stream->context : NULL;

        return context ? (CUresult)atomic_load(&context->error) : CUDA_SUCCESS;
}

CUresult mark_wait(struct mark *mark)
{
        if (task_is_worker() && !mark_is_passed(mark))
                return CUDA_ERROR_NOT_PERMITTED;
        if (mark->task)
                task_wait(mark->stream, mark->task);
        if (timeline_wait(&driver.machine, mark->op) == -ENODEV)
                return CUDA_ERROR_DEVICE_UNAVAILABLE;
        kernel_print_flush();
        return mark_error(mark);
}

uint64_t mark_time_ns(struct mark *mark)
{
        if (!mark->op)
                return mark->time_ns;
        if (!mark_is_passed(mark))
                return 0;
        pthread_mutex_lock(&work_lock);
        uint64_t end_ns = mark->stamp ? stamp_end_ns(mark->stamp)
                                      : timeline_end_ns(&driver.machine, mark->op);
        pthread_mutex_unlock(&work_lock);
        return end_ns;
}

/* Everything the stream was given, for waiting: no stamp is needed. */
static struct mark stream_last(struct stream *stream)
{
        return (struct mark){ .op = stream->last.op, .stream = stream, .task = stream->last.task };
}

CUresult stream_wait(struct stream *stream)
{
        struct mark mark;

        if (stream_needs_join(stream)) {
                work_mark(stream, &mark);
                CUresult r = mark_wait(&mark);
                mark_done(&mark);
                return r;
        }
        pthread_mutex_lock(&work_lock);
        mark = stream_last(stream);
        pthread_mutex_unlock(&work_lock);
        return mark_wait(&mark);
}

bool stream_is_idle(struct stream *stream)
{
        bool is_idle = true;

        pthread_mutex_lock(&work_lock);
        for (unsigned i = 0; i < stream->wait_count && is_idle; i++)
                is_idle = mark_is_passed(&stream->waits[i]);
        if (is_idle && stream->is_legacy && others_are_pending(stream)) {
                timeline_advance(&driver.machine, stream->context->device->unit);
                is_idle = !others_are_pending(stream);
        }
        struct mark mark = stream_last(stream);
        pthread_mutex_unlock(&work_lock);
        return is_idle && mark_is_passed(&mark);
}

/* A stream of the context with work not known to be done; marks it, or returns false. */
static bool context_pending(struct context *context, struct mark *ret_mark)
{
        bool found = false;

        pthread_mutex_lock(&work_lock);
        struct stream *s = context->legacy;
        for (struct stream *next = context->streams; s && !found;
             s = next, next = s ? s->next : NULL) {
                *ret_mark = stream_last(s);
                found = !mark_has_run(ret_mark) ||
                        !timeline_was_done(&driver.machine, ret_mark->op);
        }
        pthread_mutex_unlock(&work_lock);
        return found;
}

CUresult context_wait(struct context *context)
{
        struct mark mark;
        CUresult r = CUDA_SUCCESS;

        while (r == CUDA_SUCCESS && context_pending(context, &mark))
                r = mark_wait(&mark);
        kernel_print_flush();
        return r != CUDA_SUCCESS ? r : (CUresult)atomic_load(&context->error);
}
