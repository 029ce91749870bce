/* SPDX-License-Identifier: Apache-2.0 */
/* An API server that is asked one thing after another. */
#include "cluster_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "kube_watch.h"
#include "log_limit.h"

int cluster_session_open(const char *kubeconfig, struct cluster_session *ret_session, struct err *e)
{
        int r;

        *ret_session = (struct cluster_session){ 0 };
        r = kube_config_load(kubeconfig, &ret_session->config, e);
        if (r == 0 && loop_new(&ret_session->loop) < 0)
                r = err_set(e, -ENOMEM, "the event loop cannot be made");
        return r < 0 ? r
                     : kube_client_new(ret_session->loop, &ret_session->config,
                                       &ret_session->client, e);
}

void cluster_session_close(struct cluster_session *session)
{
        if (session->client)
                kube_client_free(session->client);
        loop_free(session->loop);
        kube_config_done(&session->config);
}

/* One question and what became of it. */
struct question {
        bool is_over;
        int result;
        json_t *body;
        char *text; /* instead of the body, where is_text */
        bool is_text;
        struct err *e;
        int (*visit)(void *owner, const json_t *object);
        void *owner;
        struct log_limit bad; /* objects that cannot be read */
};

static int status_result(const struct kube_answer *answer)
{
        if (answer->status >= 200 && answer->status < 300)
                return 0;
        if (answer->status == 404)
                return -ENOENT;
        return answer->status == 401 || answer->status == 403 ? -EACCES : -EIO;
}

static void on_answer(void *owner, const struct kube_answer *answer)
{
        struct question *question = owner;

        question->is_over = true;
        question->result = status_result(answer);
        if (question->result < 0)
                err_set(question->e, question->result, "%s", answer->message);
        else if (question->is_text)
                question->text = strdup(answer->text);
        else if (answer->body)
                question->body = json_deep_copy(answer->body);
}

static void question_wait(struct cluster_session *session, const struct question *question)
{
        while (!question->is_over)
                loop_step(session->loop, NS_PER_S);
}

int cluster_session_call(struct cluster_session *session, const char *method, const char *path,
                         const json_t *body, json_t **ret_body, struct err *e)
{
        const struct kube_request request = {
                .method = method, .path = path, .body = body, .tries = 2
        };
        struct question question = { .e = e };
        struct kube_call *call;

        if (kube_client_call(session->client, &request, on_answer, &question, &call) < 0)
                return err_set(e, -ENOMEM, "out of memory");
        question_wait(session, &question);
        *ret_body = question.body;
        return question.result;
}

int cluster_session_text(struct cluster_session *session, const char *path,
                         const char *passed_token, unsigned timeout_ms, char **ret_text,
                         struct err *e)
{
        const struct kube_request request = { .method = "GET",
                                              .path = path,
                                              .passed_token = passed_token,
                                              .timeout_ms = timeout_ms,
                                              .tries = 1 };
        struct question question = { .e = e, .is_text = true };
        struct kube_call *call;

        if (kube_client_call(session->client, &request, on_answer, &question, &call) < 0)
                return err_set(e, -ENOMEM, "out of memory");
        question_wait(session, &question);
        if (question.result < 0)
                return question.result;
        *ret_text = question.text;
        return question.text ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void on_object(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *object)
{
        struct question *question = owner;

        (void)name;
        if (change == KUBE_ADDED && !question->is_over)
                question->result = question->visit(question->owner, object);
        question->is_over |= question->result < 0;
}

static void on_listed(void *owner)
{
        ((struct question *)owner)->is_over = true;
}

static void on_trouble(void *owner, const struct err *e)
{
        struct question *question = owner;

        question->is_over = true;
        question->result = err_set(question->e, e->code < 0 ? e->code : -EIO, "%s", e->text);
}

static void on_bad(void *owner, const struct err *e)
{
        uint64_t hidden;

        if (log_limit_take(&((struct question *)owner)->bad, clock_now_ns(), &hidden))
                fprintf(stderr, "warning: %s\n", e->text);
}

int cluster_session_each(struct cluster_session *session, const char *path,
                         int (*visit)(void *owner, const json_t *object), void *owner,
                         struct err *e)
{
        struct question question = { .e = e, .visit = visit, .owner = owner };
        const struct kube_watch_options options = { .path = path,
                                                    .on_change = on_object,
                                                    .on_synced = on_listed,
                                                    .on_trouble = on_trouble,
                                                    .on_bad = on_bad,
                                                    .owner = &question };
        struct kube_watch *watch;

        if (kube_watch_new(session->client, &options, &watch) < 0)
                return err_set(e, -ENOMEM, "out of memory");
        question_wait(session, &question);
        if (question.bad.hidden)
                fprintf(stderr, "warning: %s: %llu more like them\n", path,
                        (unsigned long long)question.bad.hidden);
        kube_watch_free(watch);
        return question.result;
}
