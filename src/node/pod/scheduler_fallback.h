/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_fallback: asks vgpu-scheduler for an allocation (vgpu.v1.Allocations/Get over mutual TLS) when the
 * node's own watch has not delivered the pod yet. */
#pragma once

#include <jansson.h>

#include "grpc_client.h"
#include "pod_watch.h"

struct scheduler_fallback {
        struct loop *loop;
        struct address scheduler; /* by number: nobody waits for a name server */
        const char *server_name;  /* whom its certificate must name */
        const char *
                folder; /* with tls.crt, tls.key and ca.crt; read for each question, as they change */
        const char *node_name;
        struct pod_watch *pods; /* learns of what is fetched; NULL: not yet */
};

struct allocation_question;

struct allocation_wanted { /* pod_uid, or "" and the names */
        const char *pod_uid, *namespace_name, *pod;
        const char *container;
};

struct allocation_answer { /* gone when the callback returns */
        enum grpc_status status;
        const char *text; /* why not */
        const json_t
                *pod; /* with GRPC_OK: as much of the pod as the decision says, and the decision */
};

/* Answers once, never from inside this call. */
int scheduler_fallback_ask(const struct scheduler_fallback *fallback,
                           const struct allocation_wanted *wanted,
                           void (*on_answer)(void *owner, const struct allocation_answer *answer),
                           void *owner, struct allocation_question **ret_question, struct err *e);
void allocation_question_cancel(struct allocation_question *question); /* there will be no answer */

/* Asks for the allocation of one container and tells the watch, without waiting. NULL: nobody is asked. */
void scheduler_fallback_fetch(struct scheduler_fallback *fallback, const char *pod_namespace,
                              const char *pod, const char *container);
