/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs over HTTP. */
#include "extender.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "clock.h"
#include "json_memory.h"
#include "json_read.h"
#include "kube_object.h"
#include "list.h"
#include "node_read.h"
#include "preempt_pdb.h"
#include "scheduler_metrics.h"
#include "scope.h"
#include "simulate.h"
#include "verb_preempt.h"
#include "verbs.h"

struct extender {
        struct loop *loop;
        struct state *state;
        struct kube_client *client;
        struct http_server *http;
        struct verbs verbs;
        struct scheduler_metrics metrics;
        struct preempting *preempting;
        struct lease *lease;
        const struct http_authorizer *authorizer;
        bool with_gpu;
        struct timer drain;
        void (*on_drained)(void *owner);
        void *owner;
};

static void reply_text(struct http_exchange *exchange, int status, const char *text)
{
        http_reply(exchange, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void reply_json(struct http_exchange *exchange, json_t *json)
{
        autofree char *text = json ? json_memory_dump(json, JSON_COMPACT) : NULL;

        json_decref(json);
        if (text)
                http_reply(exchange, 200, "application/json", text, strlen(text));
        else
                reply_text(exchange, 500, "out of memory\n");
}

/* What the pod asks for; NULL: nothing that can be, or out of memory, and e says which. */
static struct request_class *class_read(struct extender *extender, const struct args *args,
                                        struct err *e)
{
        struct gpu_request gpu_request;
        struct request_class *class;

        if (gpu_request_read(args->pod, extender->with_gpu, &gpu_request, e) < 0)
                return NULL;
        class = request_cache_find(state_request_cache(extender->state), &gpu_request);
        if (!class)
                err_set(e, -ENOMEM, "out of memory");
        return class;
}

/* NULL: the pod has none. */
static const char *uid_of(const struct args *args)
{
        return json_read_text_or_null(json_object_get(args->pod, "metadata"), "uid");
}

/* Bind names the pod only: what it asks for is known from here, or from the watch. */
static void pod_note(struct extender *extender, const struct args *args,
                     struct request_class *class)
{
        const char *uid = uid_of(args);

        if (uid && class->gpu_request.pod.need_count > 0)
                state_note_request(extender->state, uid, class);
}

static const struct cluster_nomination *nomination_of(const struct extender *extender,
                                                      const struct args *args)
{
        const char *uid = uid_of(args);

        return uid ? cluster_nomination_find(state_cluster(extender->state), uid) : NULL;
}

static int verb_filter(struct extender *extender, const struct args *args, struct str *reply)
{
        struct err e = { 0 };
        struct request_class *class = class_read(extender, args, &e);
        size_t passed = 0;

        if (!class)
                return verbs_filter_error(e.text, reply);
        pod_note(extender, args, class);
        struct verbs own = extender->verbs;

        own.nomination = nomination_of(extender, args);
        const int r = verbs_filter(&own, args, class, reply, &passed);

        if (passed == 0) {
                state_note_refusal(extender->state);
                preempting_consider(extender->preempting, args, &class->gpu_request);
        }
        return r;
}

static int verb_prioritize(struct extender *extender, const struct args *args, struct str *reply)
{
        struct request_class *class = class_read(extender, args, NULL);

        return class ? verbs_prioritize(&extender->verbs, args, class, reply)
                     : str_append(reply, "[]");
}

static void verb_bind(struct extender *extender, const json_t *args, struct http_exchange *exchange)
{
        binding_begin(extender->state, extender->client, args, extender->lease != NULL, exchange);
}

static void on_preempt_complete(void *owner, json_t *answer)
{
        reply_json(owner, answer);
}

static void verb_preempt_run(struct extender *extender, const json_t *args,
                             struct http_exchange *exchange)
{
        struct gpu_request gpu_request;
        struct err e = { 0 };

        if (gpu_request_read(json_object_get(args, "Pod"), extender->with_gpu, &gpu_request, &e) <
            0) {
                reply_text(exchange, 400, e.text);
                return;
        }
        json_t *answer =
                verb_preempt(state_cluster(extender->state), args, &gpu_request, clock_now_ns());

        if (answer)
                preempt_pdb_add(extender->client, state_cluster(extender->state), args, answer,
                                on_preempt_complete, exchange);
        else
                reply_json(exchange, NULL);
}

static void verb_simulate(struct extender *extender, const json_t *args,
                          struct http_exchange *exchange)
{
        const struct simulate_options options = { .with_gpu = extender->with_gpu,
                                                  .node_policy = extender->verbs.node_policy };

        reply_json(exchange, simulate(state_cluster(extender->state), &options, args));
}

/* Verbs that only name nodes read their arguments as text and answer as text (`query`); the arguments of the
 * others are a tree (`run`). */
static const struct verb {
        const char *name; /* of its path and in metrics */
        enum scheduler_verb number;
        int (*query)(struct extender *extender, const struct args *args, struct str *reply);
        void (*run)(struct extender *extender, const json_t *args, struct http_exchange *exchange);
} verbs[] = { { "filter", VERB_FILTER, .query = verb_filter },
              { "prioritize", VERB_PRIORITIZE, .query = verb_prioritize },
              { "bind", VERB_BIND, .run = verb_bind },
              { "preempt", VERB_PREEMPT, .run = verb_preempt_run },
              { "simulate", VERB_SIMULATE, .run = verb_simulate } };
static_assert(sizeof verbs / sizeof *verbs == VERBS, "each number has a verb");

static void verb_query(struct extender *extender, const struct verb *verb,
                       struct http_exchange *exchange)
{
        size_t count;
        const char *body = http_body(exchange, &count);
        struct str reply = { 0 };
        struct err e = { 0 };
        struct args args;

        if (args_read(body, count, node_read_ignored, &args, &e) < 0) {
                reply_text(exchange, 400, e.text);
                return;
        }
        if (verb->query(extender, &args, &reply) == 0)
                http_reply(exchange, 200, "application/json", reply.text, reply.length);
        else
                reply_text(exchange, 500, "out of memory\n");
        str_done(&reply);
        args_done(&args);
}

static void verb_run(struct extender *extender, const struct verb *verb,
                     struct http_exchange *exchange)
{
        size_t count;
        const char *body = http_body(exchange, &count);
        bool is_tamed;
        autojson json_t *args =
                kube_object_load(body, count, &is_tamed, NULL); /* a bad victim is one of many */

        if (json_is_object(args))
                verb->run(extender, args, exchange);
        else
                reply_text(exchange, 400, "the body is not a JSON object\n");
}

int extender_print_metrics(const struct extender *extender, struct str *to)
{
        const char *names[VERBS];
        int r;

        for (int i = 0; i < VERBS; i++)
                names[verbs[i].number] = verbs[i].name;
        r = scheduler_metrics_print(&extender->metrics, state_cluster(extender->state), names,
                                    state_is_synced(extender->state), to);
        if (r == 0)
                r = str_appendf(to,
                                "# HELP vgpu_scheduler_api_bad_objects_total Nodes and pods that "
                                "were invalid, whole or in part.\n"
                                "# TYPE vgpu_scheduler_api_bad_objects_total counter\n"
                                "vgpu_scheduler_api_bad_objects_total %llu\n",
                                (unsigned long long)state_bad_objects(extender->state));
        return r < 0 ? r : preempting_print(extender->preempting, to);
}

static void metrics_reply(struct extender *extender, struct http_exchange *exchange)
{
        struct str text = { 0 };

        if (extender_print_metrics(extender, &text) == 0)
                http_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text.text,
                           text.length);
        else
                reply_text(exchange, 500, "out of memory\n");
        str_done(&text);
}

/* Whoever follows does not know of decisions that are under way: it answers no verb but simulate. */
static bool leads(const struct extender *extender)
{
        if (!extender->lease)
                return true;
        lease_note_asked(extender->lease);
        return lease_leads(extender->lease);
}

/* True: the path is a verb's, and it was answered, now or later. */
static bool verb_find(struct extender *extender, const char *path, struct http_exchange *exchange)
{
        const struct verb_clock clock = verb_clock_now();
        const struct verb *verb = verbs, *end = verbs + VERBS;

        while (verb < end && (*path != '/' || strcmp(path + 1, verb->name) != 0))
                verb++;
        if (verb == end)
                return false;
        /* Half a picture would place two pods on one GPU. */
        if (!state_is_synced(extender->state)) {
                reply_text(exchange, 503, "the cluster is not known yet\n");
                return true;
        }
        if (verb->number != VERB_SIMULATE && !leads(extender)) {
                reply_text(exchange, 503, "this replica is not the leader\n");
                return true;
        }
        if (verb->query)
                verb_query(extender, verb, exchange);
        else
                verb_run(extender, verb, exchange);
        scheduler_metrics_add(&extender->metrics, verb->number, &clock);
        return true;
}

static void unknown_reply(struct http_exchange *exchange)
{
        struct str text = { 0 };
        int r = str_append(&text, "there is ");

        for (int i = 0; i < VERBS && r == 0; i++)
                r = str_appendf(&text, "/%s, ", verbs[i].name);
        if (r == 0)
                r = str_append(&text, "/healthz, /readyz and /metrics\n");
        reply_text(exchange, r == 0 ? 404 : 500, r == 0 ? text.text : "out of memory\n");
        str_done(&text);
}

static void serve(void *owner, struct http_exchange *exchange)
{
        struct extender *extender = owner;
        const char *path = http_path(exchange);

        if (verb_find(extender, path, exchange))
                return;
        if (strcmp(path, "/healthz") == 0)
                reply_text(exchange, 200, "ok\n");
        else if (strcmp(path, "/metrics") == 0)
                metrics_reply(extender, exchange);
        else if (strcmp(path, "/readyz") == 0)
                reply_text(exchange, state_is_synced(extender->state) ? 200 : 503,
                           state_is_synced(extender->state) ? "ok\n"
                                                            : "the cluster is not known yet\n");
        else
                unknown_reply(exchange);
}

/* Who decides is kube-scheduler, which has no token: it alone reaches the address. Others come for these two. */
static bool is_for_others(const char *path)
{
        return strcmp(path, "/metrics") == 0 || strcmp(path, "/simulate") == 0;
}

static void on_request(void *owner, struct http_exchange *exchange)
{
        struct extender *extender = owner;
        const struct http_authorizer *authorizer = extender->authorizer;

        if (http_fault(exchange))
                reply_text(exchange, http_fault(exchange), "the request is refused\n");
        else if (authorizer && is_for_others(http_path(exchange)))
                authorizer->check(authorizer->owner, exchange, serve, extender);
        else
                serve(extender, exchange);
}

static void on_drain(struct timer *timer)
{
        struct extender *extender = container_of(timer, struct extender, drain);

        if (http_server_connections(extender->http) == 0)
                extender->on_drained(extender->owner);
        else
                loop_timer_set(extender->loop, timer, 20 * NS_PER_MS);
}

int extender_new(struct loop *loop, struct state *state, struct kube_client *client,
                 const struct extender_options *options, struct extender **ret_extender,
                 struct err *e)
{
        /* Thousands of node names and a pod of up to 1.5 MiB. */
        const struct http_limits limits = { .body_bytes = 8u << 20, .buffered_bytes = 64u << 20 };
        struct extender *extender = calloc(1, sizeof *extender);
        int r;

        if (!extender)
                return err_set(e, -ENOMEM, "out of memory");
        *extender = (struct extender){
                .loop = loop,
                .state = state,
                .client = client,
                .verbs = { .cluster = state_cluster(state), .node_policy = options->node_policy },
                .preempting = options->preempting,
                .lease = options->lease,
                .authorizer = options->authorizer,
                .with_gpu = options->with_gpu,
                .drain = { .on_due = on_drain },
        };
        r = http_server_new(loop, &limits, &(struct http_service){ on_request, extender },
                            &extender->http);
        if (r == 0)
                r = http_server_listen(extender->http, options->address, 0, options->tls, e);
        if (r < 0) {
                extender_free(extender);
                return r;
        }
        *ret_extender = extender;
        return 0;
}

unsigned extender_port(const struct extender *extender)
{
        return http_server_port(extender->http);
}

void extender_drain(struct extender *extender, void (*on_drained)(void *owner), void *owner)
{
        extender->on_drained = on_drained;
        extender->owner = owner;
        http_server_drain(extender->http);
        loop_timer_set(extender->loop, &extender->drain, 0);
}

void extender_free(struct extender *extender)
{
        if (!extender)
                return;
        loop_timer_clear(extender->loop, &extender->drain);
        if (extender->http)
                http_server_free(extender->http);
        free(extender);
}
