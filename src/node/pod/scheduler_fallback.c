/* SPDX-License-Identifier: Apache-2.0 */
/* Each question has a connection of its own: it is rare, and certificates may have changed. */
#include "scheduler_fallback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "file.h"
#include "list.h"
#include "log.h"
#include "scope.h"
#include "str.h"
#include "vgpu.pb-c.h"

enum { TIMEOUT_MS = 5000, DIAL_MS = 3000, MIB = 1 << 20 };

struct allocation_question {
        struct loop *loop;
        struct tls_context *tls;
        struct http_client *http;
        struct grpc_request *request;
        struct loop_task end; /* a connection is not taken down from inside its own event */
        void (*on_answer)(void *owner, const struct allocation_answer *answer);
        void *owner;
        char node[256];
        enum grpc_status status;
        char text[256];
        json_t *pod;
};

static void question_free(struct allocation_question *question)
{
        if (question->http)
                http_client_free(question->http);
        tls_context_free(question->tls);
        json_decref(question->pod);
        free(question);
}

static int parts_take(const Vgpu__V1__Share *share, struct vec *parts)
{
        for (size_t i = 0; i < share->n_gpus; i++) {
                const Vgpu__V1__DeviceShare *device = share->gpus[i];
                struct allocation_part part = { .memory_mib = device->limit_bytes / MIB,
                                                .cores = device->cores_percent };

                if (strlen(device->uuid) >= sizeof part.uuid || device->cores_percent > 100)
                        return -EPROTO;
                str_copy(part.container, sizeof part.container, share->container->container);
                str_copy(part.uuid, sizeof part.uuid, device->uuid);
                if (vec_push(parts, &part) < 0)
                        return -ENOMEM;
        }
        return share->n_gpus ? 0 : -EPROTO;
}

/* The pod's object as the watch would deliver it, as far as it is known. NULL: no memory, or no share. */
static json_t *pod_make(const struct allocation_question *question, const Vgpu__V1__Share *share)
{
        struct allocation allocation = { .parts = VEC_OF(struct allocation_part) };
        const Vgpu__V1__Container *of = share ? share->container : NULL;
        autofree char *text = NULL;

        if (!of)
                return NULL;
        str_copy(allocation.pod_uid, sizeof allocation.pod_uid, of->pod_uid);
        str_copy(allocation.node, sizeof allocation.node, question->node);
        if (parts_take(share, &allocation.parts) == 0)
                text = allocation_format(&allocation);
        allocation_done(&allocation);
        return text ? json_pack("{s:{s:s, s:s, s:s, s:{s:s}}, s:{s:s, s:[{s:s}]}}", "metadata",
                                "uid", of->pod_uid, "namespace", of->namespace_, "name", of->pod,
                                "annotations", ALLOCATION_ANNOTATION, text, "spec", "nodeName",
                                question->node, "containers", "name", of->container)
                    : NULL;
}

static void on_message(void *owner, const ProtobufCMessage *message)
{
        struct allocation_question *question = owner;
        const Vgpu__V1__GetAllocationResponse *response = (const void *)message;

        json_decref(question->pod);
        question->pod = pod_make(question, response->share);
}

static void on_end(void *owner, enum grpc_status status, const char *text)
{
        struct allocation_question *question = owner;

        question->request = NULL;
        question->status = status == GRPC_OK && !question->pod ? GRPC_INTERNAL : status;
        str_copy(question->text, sizeof question->text,
                 question->status == GRPC_INTERNAL ? "vgpu-scheduler's answer is no share" : text);
        loop_defer(question->loop, &question->end);
}

static void on_ended(struct loop_task *task)
{
        struct allocation_question *question = container_of(task, struct allocation_question, end);
        const struct allocation_answer answer = { .status = question->status,
                                                  .text = question->text,
                                                  .pod = question->pod };

        question->on_answer(question->owner, &answer);
        question_free(question);
}

static int credential_read(const struct scheduler_fallback *fallback, const char *name,
                           char **ret_text, struct err *e)
{
        char path[512];
        int r;

        snprintf(path, sizeof path, "%.400s/%s", fallback->folder, name);
        r = file_read(path, ret_text);
        return r < 0 ? err_set(e, r, "cannot read '%.120s': %s", path, strerror(-r)) : 0;
}

static int connection_make(struct allocation_question *question,
                           const struct scheduler_fallback *fallback, struct err *e)
{
        const struct http_client_options options = { .address = fallback->scheduler,
                                                     .server_name = fallback->server_name,
                                                     .authority = fallback->server_name,
                                                     .dial_ms = DIAL_MS };
        struct http_client_options with_tls = options;
        autofree char *certificate = NULL;
        autofree char *key = NULL;
        autofree char *authorities = NULL;
        int r = credential_read(fallback, "tls.crt", &certificate, e);

        if (r == 0)
                r = credential_read(fallback, "tls.key", &key, e);
        if (r == 0)
                r = credential_read(fallback, "ca.crt", &authorities, e);
        if (r == 0)
                r = tls_client_new(&(struct tls_credentials){ certificate, key, authorities },
                                   &question->tls, e);
        if (key)
                explicit_bzero(key, strlen(key));
        with_tls.tls = question->tls;
        if (r == 0 && http_client_new(fallback->loop, &with_tls, &question->http) < 0)
                r = err_set(e, -ENOMEM, "out of memory");
        return r;
}

static int request_send(struct allocation_question *question,
                        const struct allocation_wanted *wanted, struct err *e)
{
        static const struct grpc_request_events events = { on_message, on_end };
        Vgpu__V1__GetAllocationRequest request = VGPU__V1__GET_ALLOCATION_REQUEST__INIT;
        Vgpu__V1__Container which = VGPU__V1__CONTAINER__INIT;
        const struct grpc_request_options options = {
                .path = "/vgpu.v1.Allocations/Get",
                .message = &request.base,
                .answer = &vgpu__v1__get_allocation_response__descriptor,
                .timeout_ms = TIMEOUT_MS,
        };

        which.pod_uid = (char *)wanted->pod_uid;
        which.namespace_ = (char *)wanted->namespace_name;
        which.pod = (char *)wanted->pod;
        which.container = (char *)wanted->container;
        request.container = &which;
        return grpc_client_call(question->loop, question->http, &options, &events, question,
                                &question->request) < 0
                       ? err_set(e, -ENOMEM, "out of memory")
                       : 0;
}

int scheduler_fallback_ask(const struct scheduler_fallback *fallback,
                           const struct allocation_wanted *wanted,
                           void (*on_answer)(void *owner, const struct allocation_answer *answer),
                           void *owner, struct allocation_question **ret_question, struct err *e)
{
        struct allocation_question *question = calloc(1, sizeof *question);
        int r;

        if (!question)
                return err_set(e, -ENOMEM, "out of memory");
        question->loop = fallback->loop;
        question->end.run = on_ended;
        question->on_answer = on_answer;
        question->owner = owner;
        str_copy(question->node, sizeof question->node, fallback->node_name);
        r = connection_make(question, fallback, e);
        if (r == 0)
                r = request_send(question, wanted, e);
        if (r < 0)
                question_free(question);
        else
                *ret_question = question;
        return r;
}

static void nobody(void *owner, const struct allocation_answer *answer)
{
        (void)owner;
        (void)answer;
}

void allocation_question_cancel(struct allocation_question *question)
{
        question->on_answer = nobody;
        if (question->end.is_waiting)
                return; /* ends by itself, at once */
        if (question->request)
                grpc_request_cancel(question->request);
        question->request = NULL;
        loop_defer(question->loop, &question->end);
}

struct fetch {
        struct scheduler_fallback *fallback;
        struct allocation_question *question;
};

static void on_fetched(void *owner, const struct allocation_answer *answer)
{
        struct fetch *fetch = owner;

        if (answer->pod && fetch->fallback->pods)
                pod_watch_learn(fetch->fallback->pods, answer->pod);
        else if (answer->status != GRPC_NOT_FOUND)
                log_warn("vgpu-scheduler does not answer with an allocation: %s", answer->text);
        free(fetch);
}

void scheduler_fallback_fetch(struct scheduler_fallback *fallback, const char *pod_namespace,
                              const char *pod, const char *container)
{
        const struct allocation_wanted wanted = {
                .pod_uid = "", .namespace_name = pod_namespace, .pod = pod, .container = container
        };
        struct fetch *fetch = fallback && fallback->pods ? malloc(sizeof *fetch) : NULL;
        struct err e = { 0 };

        if (!fetch)
                return;
        fetch->fallback = fallback;
        if (scheduler_fallback_ask(fallback, &wanted, on_fetched, fetch, &fetch->question, &e) == 0)
                return;
        log_warn("cannot ask vgpu-scheduler: %s", e.text);
        free(fetch);
}
