/* SPDX-License-Identifier: Apache-2.0 */
/* cuStreamBeginCapture, cuStreamEndCapture and what can be asked in between. */
#include "capture_session.h"

#include <stdlib.h>

#include "scope.h"

static CUresult session_begin(struct stream *stream, CUstreamCaptureMode mode, struct graph *graph,
                              struct session **ret_session)
{
        struct session *session;

        if (stream->is_legacy)
                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        if (stream->capture)
                return CUDA_ERROR_ILLEGAL_STATE;
        session = calloc(1, sizeof *session);
        if (!session)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *session = (struct session){
                .number = ++capture_state.number,
                .mode = mode,
                .thread = pthread_self(),
                .origin = stream,
                .graph = graph ? graph : graph_new(),
                .is_into_graph = graph != NULL,
                .next = capture_state.sessions,
        };
        if (!session->graph) {
                free(session);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        capture_state.sessions = session;
        capture_state.count++;
        *ret_session = session;
        return CUDA_SUCCESS;
}

static CUresult stream_begin(CUstream handle, CUstreamCaptureMode mode, struct graph *graph,
                             const CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t count)
{
        struct session *session;
        struct stream *stream;
        CUresult r = stream_get(handle, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count; i++) {
                struct node *node = node_get(nodes[i]);

                if (!node || node->graph != graph)
                        return CUDA_ERROR_INVALID_VALUE;
        }

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        r = session_begin(stream, mode, graph, &session);
        if (r != CUDA_SUCCESS)
                return r;
        r = capture_join(session, stream, (struct node *const *)nodes, edges, count);
        if (r != CUDA_SUCCESS)
                session_end(session);
        return r;
}

CUresult sim_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
        return stream_begin(hStream, mode, NULL, NULL, NULL, 0);
}

CUresult sim_cuStreamBeginCapture(CUstream hStream)
{
        return sim_cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                         const CUgraphNode *dependencies,
                                         const CUgraphEdgeData *dependencyData,
                                         size_t numDependencies, CUstreamCaptureMode mode)
{
        struct graph *graph = graph_get(hGraph);

        if (!graph || (numDependencies && !dependencies))
                return CUDA_ERROR_INVALID_VALUE;
        return stream_begin(hStream, mode, graph, dependencies, dependencyData, numDependencies);
}

/* Marks what the marked nodes come after. */
static CUresult mark_ancestors(const struct graph *graph, bool *is_reached)
{
        autofree struct node **order = NULL;
        CUresult r = graph_order(graph, &order);

        if (r != CUDA_SUCCESS)
                return r;
        for (size_t i = graph->nodes.count; i-- > 0;) {
                if (!is_reached[order[i]->index])
                        continue;
                for (size_t j = 0; j < order[i]->before.count; j++)
                        is_reached[((struct edge *)vec_at(&order[i]->before, j))->node->index] =
                                true;
        }
        return CUDA_SUCCESS;
}

/* Every stream that took part must have come back to the one where the capture began. */
static CUresult session_check_joined(const struct session *session)
{
        autofree bool *is_reached = calloc(session->graph->nodes.count + 1, sizeof *is_reached);
        const struct capture *origin = session->origin->capture;
        CUresult r;

        if (!is_reached)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < origin->nodes.count; i++)
                is_reached[(*(struct node **)vec_at(&origin->nodes, i))->index] = true;
        r = mark_ancestors(session->graph, is_reached);
        if (r != CUDA_SUCCESS)
                return r;
        for (const struct capture *c = session->streams; c; c = c->next) {
                for (size_t i = 0; i < c->nodes.count; i++) {
                        if (!is_reached[(*(struct node **)vec_at(&c->nodes, i))->index])
                                return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
                }
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
        struct session *session;
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        if (!stream->capture)
                return CUDA_ERROR_ILLEGAL_STATE;
        session = stream->capture->session;
        if (session->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
            !pthread_equal(session->thread, pthread_self()))
                return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
        if (session->origin != stream) {
                session->is_invalid = true;
                return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
        }
        r = session->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                : session_check_joined(session);
        if (r == CUDA_SUCCESS) {
                if (phGraph) {
                        *phGraph = (CUgraph)session->graph;
                        session->is_into_graph = true; /* the caller's from now on */
                }
        } else if (phGraph) {
                *phGraph = NULL;
        }
        session_end(session);
        return r;
}

static CUstreamCaptureStatus stream_status(const struct stream *stream)
{
        if (!stream->capture)
                return CU_STREAM_CAPTURE_STATUS_NONE;
        return stream->capture->session->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult sim_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
        return sim_cuStreamGetCaptureInfo(hStream, captureStatus, NULL);
}

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                       cuuint64_t *id_out, CUgraph *graph_out,
                                       const CUgraphNode **dependencies_out,
                                       const CUgraphEdgeData **edgeData_out,
                                       size_t *numDependencies_out)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!captureStatus_out)
                return CUDA_ERROR_INVALID_VALUE;

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        const struct capture *capture = stream->capture;
        *captureStatus_out = stream_status(stream);
        if (*captureStatus_out != CU_STREAM_CAPTURE_STATUS_ACTIVE)
                return CUDA_SUCCESS;
        if (id_out)
                *id_out = capture->session->number;
        if (graph_out)
                *graph_out = (CUgraph)capture->session->graph;
        if (dependencies_out)
                *dependencies_out = capture->nodes.items;
        if (edgeData_out)
                *edgeData_out = capture->edges.items;
        if (numDependencies_out)
                *numDependencies_out = capture->nodes.count;
        return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                       cuuint64_t *id_out, CUgraph *graph_out,
                                       const CUgraphNode **dependencies_out,
                                       size_t *numDependencies_out)
{
        return sim_cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out,
                                             dependencies_out, NULL, numDependencies_out);
}

CUresult sim_cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                    cuuint64_t *id_out)
{
        return sim_cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, NULL, NULL, NULL,
                                             NULL);
}

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                                  const CUgraphEdgeData *dependencyData,
                                                  size_t numDependencies, unsigned int flags)
{
        struct capture *capture;
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (numDependencies && !dependencies))
                return CUDA_ERROR_INVALID_VALUE;

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        capture = stream->capture;
        if (!capture || capture->session->is_invalid)
                return CUDA_ERROR_ILLEGAL_STATE;
        for (size_t i = 0; i < numDependencies; i++) {
                struct node *node = node_get(dependencies[i]);

                if (!node || node->graph != capture->session->graph)
                        return CUDA_ERROR_INVALID_VALUE;
        }
        if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
                capture->nodes.count = capture->edges.count = 0;
        return capture_depend(capture, (struct node *const *)dependencies, dependencyData,
                              numDependencies);
}

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                               size_t numDependencies, unsigned int flags)
{
        return sim_cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL,
                                                        numDependencies, flags);
}
