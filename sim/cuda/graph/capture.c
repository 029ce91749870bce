/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: sessions, the rules that forbid calls, and events between streams. */
#include "capture_session.h"

#include <stdlib.h>
#include <string.h>

#include "scope.h"

struct capture_state capture_state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* NULL: it has ended. */
static struct session *session_find(uint64_t number)
{
        struct session *session = capture_state.sessions;

        while (session && session->number != number)
                session = session->next;
        return session;
}

CUresult capture_depend(struct capture *capture, struct node *const *nodes,
                        const CUgraphEdgeData *edges, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                size_t known = 0;

                while (known < capture->nodes.count &&
                       *(struct node **)vec_at(&capture->nodes, known) != nodes[i])
                        known++;
                if (known < capture->nodes.count)
                        continue;
                if (vec_push(&capture->edges, edges ? &edges[i] : NULL) < 0)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                if (vec_push(&capture->nodes, &nodes[i]) < 0)
                        return CUDA_ERROR_OUT_OF_MEMORY;
        }
        return CUDA_SUCCESS;
}

CUresult capture_join(struct session *session, struct stream *stream, struct node *const *nodes,
                      const CUgraphEdgeData *edges, size_t count)
{
        struct capture *capture = calloc(1, sizeof *capture);

        if (!capture)
                return CUDA_ERROR_OUT_OF_MEMORY;
        capture->session = session;
        capture->stream = stream;
        capture->nodes = (struct vec)VEC_OF(struct node *);
        capture->edges = (struct vec)VEC_OF(CUgraphEdgeData);
        capture->next = session->streams;
        session->streams = capture;
        stream->capture = capture;
        return capture_depend(capture, nodes, edges, count);
}

void session_end(struct session *session)
{
        struct session **link = &capture_state.sessions;

        while (*link != session)
                link = &(*link)->next;
        *link = session->next;
        while (session->streams) {
                struct capture *capture = session->streams;

                session->streams = capture->next;
                if (capture->stream)
                        capture->stream->capture = NULL;
                vec_done(&capture->nodes);
                vec_done(&capture->edges);
                free(capture);
        }
        if (!session->is_into_graph)
                graph_free(session->graph);
        capture_state.count--;
        free(session);
}

CUresult capture_break(struct stream *stream, CUresult error)
{
        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);

        if (stream->capture)
                stream->capture->session->is_invalid = true;
        return error;
}

CUresult capture_break_event(struct event *event, CUresult error)
{
        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        autounlock pthread_mutex_t *held_event = scope_lock(&event->lock);
        struct session *session = session_find(event->capture.session);

        if (session)
                session->is_invalid = true;
        return error;
}

void capture_leave(struct stream *stream)
{
        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        struct capture *capture = stream->capture;

        if (!capture)
                return;
        if (capture->session->origin == stream) {
                session_end(capture->session);
                return;
        }
        /* Its entry stays: whether its work was joined is seen at the end. */
        stream->capture = NULL;
        capture->stream = NULL;
}

static bool session_forbids(const struct session *session)
{
        if (session->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
                return false;
        if (pthread_equal(session->thread, pthread_self()))
                return true;
        return session->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
               capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_forbids(void)
{
        CUresult r = CUDA_SUCCESS;

        if (!atomic_load_explicit(&capture_state.count, memory_order_relaxed) ||
            capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
                return CUDA_SUCCESS;

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        for (struct session *s = capture_state.sessions; s; s = s->next) {
                if (!session_forbids(s))
                        continue;
                s->is_invalid = true;
                r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        return r;
}

CUresult capture_forbids_legacy(const struct context *context)
{
        if (!atomic_load_explicit(&capture_state.count, memory_order_relaxed))
                return CUDA_SUCCESS;

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        for (struct session *s = capture_state.sessions; s; s = s->next) {
                for (struct capture *c = s->streams; c; c = c->next) {
                        if (!c->stream || c->stream->context != context ||
                            (c->stream->flags & CU_STREAM_NON_BLOCKING))
                                continue;
                        s->is_invalid = true;
                        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
                }
        }
        return CUDA_SUCCESS;
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
        CUstreamCaptureMode before = capture_mode;

        if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
                return CUDA_ERROR_INVALID_VALUE;
        capture_mode = *mode;
        *mode = before;
        return CUDA_SUCCESS;
}

/* The event stands for what the stream's next node would come after. */
static CUresult event_remember(struct capture *capture, struct event *event)
{
        size_t count = capture->nodes.count;
        struct node **nodes = malloc((count ? count : 1) * sizeof(struct node *));

        if (!nodes)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (count)
                memcpy(nodes, capture->nodes.items, count * sizeof(struct node *));
        event_set_capture(event, capture->session->number, nodes, count);
        return CUDA_SUCCESS;
}

CUresult capture_record_event(struct stream *stream, struct event *event, bool is_external)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

        if (is_external) {
                params.eventRecord.event = (CUevent)event;
                return capture_add(stream, &params);
        }

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        if (!stream->capture)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (stream->capture->session->is_invalid)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        return event_remember(stream->capture, event);
}

/* The event was recorded outside of captures. */
static CUresult wait_outside(struct stream *stream, const struct event *event)
{
        if (!stream->capture)
                return CUDA_ERROR_CAPTURED_EVENT;
        if (stream->capture->session->is_invalid)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (!event->is_recorded)
                return CUDA_SUCCESS;
        stream->capture->session->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

/* Both locks are held. */
static CUresult wait_inside(struct stream *stream, const struct event *event)
{
        struct session *session =
                event->capture.session ? session_find(event->capture.session) : NULL;

        if (!session)
                return wait_outside(stream, event);
        if (session->is_invalid)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (!stream->capture) {
                if (stream->is_legacy) {
                        session->is_invalid = true;
                        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
                }
                return capture_join(session, stream, event->capture.nodes, NULL,
                                    event->capture.count);
        }
        if (stream->capture->session != session) {
                session->is_invalid = stream->capture->session->is_invalid = true;
                return CUDA_ERROR_STREAM_CAPTURE_MERGE;
        }
        return capture_depend(stream->capture, event->capture.nodes, NULL, event->capture.count);
}

CUresult capture_wait_event(struct stream *stream, struct event *event, bool is_external)
{
        CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

        if (is_external && stream->capture) {
                params.eventWait.event = (CUevent)event;
                return capture_add(stream, &params);
        }

        autounlock pthread_mutex_t *held = scope_lock(&capture_state.lock);
        autounlock pthread_mutex_t *held_event = scope_lock(&event->lock);
        return wait_inside(stream, event);
}
