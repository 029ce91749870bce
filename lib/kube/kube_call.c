/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the API server, tried until it has an answer or there is no point. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "json_memory.h"
#include "json_read.h"
#include "kube_internal.h"
#include "kube_object.h"
#include "list.h"
#include "str.h"

enum {
        TIMEOUT_MS = 15000,
        TRIES = 5,
        ANSWER_BYTES = 8 << 20,
};

struct kube_call {
        struct kube_client *client;
        void (*on_done)(void *owner, const struct kube_answer *answer);
        void *owner;
        char *method, *path, *content_type, *passed_token, *body;
        struct http_call *http; /* the current try, or NULL while it waits for the next */
        struct timer timer;     /* of the try, or until the next */
        struct loop_task fail;  /* a try that could not even begin */
        struct backoff backoff;
        unsigned timeout_ms, tries;

        int status;
        uint64_t asked_ms; /* by Retry-After */
        struct str answer;
        bool is_too_long;
};

static void call_try(struct kube_call *call);

static void call_free(struct kube_call *call)
{
        loop_timer_clear(kube_client_loop(call->client), &call->timer);
        str_done(&call->answer);
        free(call->method);
        free(call->path);
        free(call->content_type);
        free(call->passed_token);
        free(call->body);
        free(call);
}

static void call_done(struct kube_call *call, const char *trouble)
{
        bool is_tamed = false;
        autojson json_t *body =
                call->answer.length
                        ? kube_object_load(call->answer.text, call->answer.length, &is_tamed, NULL)
                        : NULL;
        const bool is_failure = call->status < 200 || call->status > 299;
        const char *reason = json_read_text_or_null(body, "reason");
        const char *message = json_read_text_or_null(body, "message");
        char text[300];
        struct kube_answer answer = { .status = call->status,
                                      .body = body,
                                      .is_tamed = body && is_tamed,
                                      .text = call->answer.text ? call->answer.text : "" };

        snprintf(text, sizeof text, "the API server answers %d", call->status);
        answer.reason = is_failure && reason ? reason : "";
        answer.message = !is_failure ? "" : trouble ? trouble : message ? message : text;
        call->on_done(call->owner, &answer);
        call_free(call);
}

/* May the same request be sent twice without doing it twice? */
static bool is_repeatable(const struct kube_call *call)
{
        return strcmp(call->method, "POST") != 0;
}

static bool is_worth_a_try(const struct kube_call *call, const struct err *why)
{
        if (call->backoff.tries + 1 >= call->tries)
                return false;
        if (why->code == 0) /* an answer came */
                return call->status == 429 || call->status == 401 ||
                       (call->status >= 500 && is_repeatable(call));
        /* Nobody there, or refused before it was looked at: nothing was done. */
        if (why->code == -EAGAIN || why->code == -ECONNREFUSED || why->code == -ENOENT)
                return true;
        return is_repeatable(call);
}

static void on_next_try(struct timer *timer)
{
        call_try(container_of(timer, struct kube_call, timer));
}

static void call_settle(struct kube_call *call, const struct err *why)
{
        struct loop *loop = kube_client_loop(call->client);
        uint64_t delay_ms;

        call->http = NULL;
        loop_timer_clear(loop, &call->timer);
        if (why->code < 0)
                call->status = 0;
        if (!is_worth_a_try(call, why))
                return call_done(call, why->code < 0 ? why->text : NULL);
        if (call->status == 401)
                kube_client_reread(call->client);
        delay_ms = backoff_next_ms(&call->backoff, backoff_chance(), call->asked_ms);
        call->timer.on_due = on_next_try;
        loop_timer_set(loop, &call->timer, delay_ms * NS_PER_MS);
}

static void on_head(void *owner, int status, const struct fields *head)
{
        struct kube_call *call = owner;

        call->status = status;
        call->asked_ms = kube_retry_after_ms(head);
}

static void on_data(void *owner, const uint8_t *bytes, size_t count)
{
        struct kube_call *call = owner;

        if (count > ANSWER_BYTES - call->answer.length ||
            str_append_bytes(&call->answer, (const char *)bytes, count) < 0)
                call->is_too_long = true;
}

static void on_end(void *owner, const struct err *why, const struct fields *trailers)
{
        struct kube_call *call = owner;
        struct err too_long = { .code = -EMSGSIZE, .text = "the answer is too long" };

        (void)trailers;
        call_settle(call, call->is_too_long ? &too_long : why);
}

static void on_timeout(struct timer *timer)
{
        struct kube_call *call = container_of(timer, struct kube_call, timer);
        const struct err why = { .code = -ETIMEDOUT, .text = "no answer in time" };

        http_call_cancel(call->http);
        call_settle(call, &why);
}

static void on_fail(struct loop_task *task)
{
        const struct err why = { .code = -ENOMEM, .text = "out of memory" };

        call_settle(container_of(task, struct kube_call, fail), &why);
}

static void call_try(struct kube_call *call)
{
        static const struct http_call_events events = { on_head, on_data, on_end };
        const struct kube_send send = { .method = call->method,
                                        .path = call->path,
                                        .content_type = call->content_type,
                                        .passed_token = call->passed_token,
                                        .body = call->body,
                                        .body_count = call->body ? strlen(call->body) : 0 };
        struct loop *loop = kube_client_loop(call->client);

        call->status = 0;
        call->asked_ms = 0;
        call->is_too_long = false;
        str_done(&call->answer);
        if (kube_client_send(call->client, &send, &events, call, &call->http) < 0) {
                call->http = NULL;
                return loop_defer(loop, &call->fail);
        }
        call->timer.on_due = on_timeout;
        loop_timer_set(loop, &call->timer, call->timeout_ms * NS_PER_MS);
}

int kube_client_call(struct kube_client *client, const struct kube_request *request,
                     void (*on_done)(void *owner, const struct kube_answer *answer), void *owner,
                     struct kube_call **ret_call)
{
        struct kube_call *call = calloc(1, sizeof *call);

        if (!call)
                return -ENOMEM;
        call->client = client;
        call->on_done = on_done;
        call->owner = owner;
        call->fail.run = on_fail;
        call->timeout_ms = request->timeout_ms ?: TIMEOUT_MS;
        call->tries = request->tries ?: TRIES;
        call->method = strdup(request->method);
        call->path = strdup(request->path);
        call->content_type = request->content_type ? strdup(request->content_type) : NULL;
        call->passed_token = request->passed_token ? strdup(request->passed_token) : NULL;
        call->body = request->body ? json_memory_dump(request->body, JSON_COMPACT) : NULL;
        if (!call->method || !call->path || (request->content_type && !call->content_type) ||
            (request->passed_token && !call->passed_token) || (request->body && !call->body)) {
                call_free(call);
                return -ENOMEM;
        }
        call_try(call);
        *ret_call = call;
        return 0;
}

static void nobody(void *owner, const struct kube_answer *answer)
{
        (void)owner;
        (void)answer;
}

void kube_call_cancel(struct kube_call *call)
{
        call->on_done = nobody;
        if (call->fail.is_waiting) { /* ends by itself, at once */
                call->tries = 0;
                return;
        }
        if (call->http)
                http_call_cancel(call->http);
        call_free(call);
}
