/* SPDX-License-Identifier: Apache-2.0 */
/* Launching an instance of a graph. */
#include "graph_exec.h"

#include "capture_session.h"
#include "scope.h"

struct exec *exec_get(CUgraphExec handle)
{
        struct exec *exec = (struct exec *)handle;

        return exec && exec->magic == EXEC_MAGIC ? exec : NULL;
}

static struct exec_branch *branch_at(const struct exec *exec, size_t index)
{
        return vec_at(&exec->branches, index);
}

/* Work of no length: a point in the stream that follows all its rules. */
static CUresult stream_step(struct stream *stream, struct mark *ret_mark)
{
        struct work nothing = { .engine = ENGINE_IN };

        return work_submit(stream, &nothing, ret_mark);
}

static CUresult stream_follow(struct stream *stream, struct stream *leader)
{
        struct mark mark;
        CUresult r;

        work_mark(leader, &mark);
        r = work_join(stream, &mark);
        mark_done(&mark);
        return r;
}

/* True: the first branch is the stream itself. */
static bool branch_is_own(const struct exec *exec, size_t branch, const struct stream *stream)
{
        return branch == 0 && branch_at(exec, 0)->context->device == stream->context->device;
}

static CUresult branch_open(struct exec_branch *branch)
{
        CUresult r = CUDA_ERROR_CONTEXT_IS_DESTROYED;

        if (branch->context->is_active)
                r = stream_new(branch->context, CU_STREAM_NON_BLOCKING, 0, &branch->stream);
        if (r == CUDA_SUCCESS)
                branch->number = branch->stream->number;
        return r;
}

static CUresult branches_begin(struct exec *exec, struct stream *stream)
{
        struct mark begin;
        CUresult r = stream_step(stream, &begin);

        for (size_t i = 0; r == CUDA_SUCCESS && i < exec->branches.count; i++) {
                struct exec_branch *branch = branch_at(exec, i);

                if (branch_is_own(exec, i, stream))
                        continue;
                if (!branch_has_stream(branch))
                        r = branch_open(branch);
                if (r == CUDA_SUCCESS)
                        r = work_join(branch->stream, &begin);
        }
        mark_done(&begin);
        return r;
}

static CUresult branches_end(struct exec *exec, struct stream *stream)
{
        CUresult r = CUDA_SUCCESS;

        for (size_t i = 0; r == CUDA_SUCCESS && i < exec->branches.count; i++) {
                if (!branch_is_own(exec, i, stream))
                        r = stream_follow(stream, branch_at(exec, i)->stream);
        }
        return r == CUDA_SUCCESS ? stream_step(stream, NULL) : r;
}

static CUresult step_submit(struct exec *exec, struct exec_step *step, struct stream *stream)
{
        struct stream *target = branch_is_own(exec, step->branch, stream)
                                        ? stream
                                        : branch_at(exec, step->branch)->stream;
        struct node *node = step->node;
        CUresult r = CUDA_SUCCESS;

        for (size_t i = 0; r == CUDA_SUCCESS && i < step->join_count; i++) {
                struct exec_step *earlier = vec_at(&exec->steps, step->joins[i]);

                r = work_join(target, &earlier->mark);
        }
        if (r == CUDA_SUCCESS && node && !node->is_disabled && node_kind(node->type)->submit)
                r = node_kind(node->type)->submit(node, target);
        if (r == CUDA_SUCCESS && step->is_joined)
                work_mark(target, &step->mark);
        return r;
}

static CUresult steps_submit(struct exec *exec, struct stream *stream)
{
        struct exec_step *steps = exec->steps.items;
        CUresult r = CUDA_SUCCESS;
        size_t done = 0;

        for (; r == CUDA_SUCCESS && done < exec->steps.count; done++)
                r = step_submit(exec, &steps[done], stream);
        if (r != CUDA_SUCCESS)
                done--; /* the one that failed has no mark */
        for (size_t i = 0; i < done; i++) {
                if (steps[i].is_joined)
                        mark_done(&steps[i].mark);
        }
        return r;
}

static CUresult exec_launch(struct exec *exec, struct stream *stream)
{
        autounlock pthread_mutex_t *held = scope_lock(&exec->lock);
        bool is_auto_free = exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        bool has_branches = exec->branches.count > 1 ||
                            (exec->branches.count && !branch_is_own(exec, 0, stream));
        CUresult r = CUDA_SUCCESS;

        if (exec->has_memory && !graph_memory_is_ready(exec->graph, is_auto_free))
                return CUDA_ERROR_INVALID_VALUE;
        if (exec->last && exec->last != stream)
                r = stream_follow(stream, exec->last);
        if (r == CUDA_SUCCESS && has_branches)
                r = branches_begin(exec, stream);
        if (r == CUDA_SUCCESS)
                r = steps_submit(exec, stream);
        if (r == CUDA_SUCCESS && has_branches)
                r = branches_end(exec, stream);
        exec->last = stream;
        return r;
}

CUresult sim_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
        struct exec *exec = exec_get(hGraph);
        struct stream *stream;
        CUresult r;

        if (!exec)
                return CUDA_ERROR_INVALID_VALUE;
        r = stream_get(hStream, &stream);
        if (r != CUDA_SUCCESS)
                return r;
        return capture_is_active(stream) ? capture_add_graph(stream, exec->graph)
                                         : exec_launch(exec, stream);
}

CUresult sim_cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!exec_get(hGraph))
                return CUDA_ERROR_INVALID_VALUE;
        return capture_is_active(stream)
                       ? capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
                       : CUDA_SUCCESS;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
        struct exec *exec = exec_get(hGraphExec);
        struct mark mark;

        if (!exec)
                return CUDA_ERROR_INVALID_VALUE;
        if (exec->has_memory && exec->last) {
                /* Its memory may go with it: not under a kernel's feet. */
                work_mark(exec->last, &mark);
                mark_wait(&mark);
                mark_done(&mark);
        }
        exec_free(exec);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
        struct exec *exec = exec_get(hGraphExec);

        if (!exec || !flags)
                return CUDA_ERROR_INVALID_VALUE;
        *flags = exec->flags;
        return CUDA_SUCCESS;
}
