/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of stream capture share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "capture.h"
#include "graph.h"

/* One capture: from cuStreamBeginCapture to cuStreamEndCapture. */
struct session {
        uint64_t number;
        CUstreamCaptureMode mode;
        pthread_t thread; /* that began it */
        struct stream *origin;
        struct graph *graph;
        bool is_into_graph; /* the caller's graph */
        bool is_invalid;
        struct capture *streams;
        struct session *next;
};

/* A stream that takes part: what its next node comes after. */
struct capture {
        struct session *session;
        struct stream *stream; /* NULL: destroyed since */
        struct vec nodes;      /* of struct node * */
        struct vec edges;      /* of CUgraphEdgeData, as many */
        struct capture *next;
};

struct capture_state {
        pthread_mutex_t lock; /* guards sessions and the graphs they fill */
        struct session *sessions;
        _Atomic unsigned count;
        uint64_t number;
};
extern struct capture_state capture_state;

/* All below with the lock held. */
/* The stream takes part from here on. */
CUresult capture_join(struct session *session, struct stream *stream, struct node *const *nodes,
                      const CUgraphEdgeData *edges, size_t count);
/* What the next node comes after is these, too. */
CUresult capture_depend(struct capture *capture, struct node *const *nodes,
                        const CUgraphEdgeData *edges, size_t count);
void session_end(struct session *session); /* the graph is freed unless taken */

/* Without the lock: adds a node to the stream's capture. May answer in *params. */
CUresult capture_add(struct stream *stream, CUgraphNodeParams *params);
/* A graph that is launched into a capturing stream becomes a child. */
CUresult capture_add_graph(struct stream *stream, struct graph *graph);
