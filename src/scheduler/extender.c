/* The verbs over HTTP. */
#include "extender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "clock.h"
#include "http_server.h"
#include "list.h"
#include "node_told.h"
#include "preempt_budgets.h"
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
        autofree char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

        json_decref(json);
        if (text)
                http_reply(exchange, 200, "application/json", text, strlen(text));
        else
                reply_text(exchange, 500, "out of memory\n");
}

/* What the pod asks for; NULL: nothing that can be, or out of memory, and e says which. */
static struct shape *shape_read(struct extender *extender, const struct args *args, struct err *e)
{
        struct asking asking;
        struct shape *shape;

        if (asking_read(args->pod, extender->with_gpu, &asking, e) < 0)
                return NULL;
        shape = shapes_find(state_shapes(extender->state), &asking);
        if (!shape)
                err_set(e, -ENOMEM, "out of memory");
        return shape;
}

/* Bind names the pod only: what it asks for is known from here, or from the watch. */
static void pod_note(struct extender *extender, const struct args *args, struct shape *shape)
{
        const char *uid =
                json_string_value(json_object_get(json_object_get(args->pod, "metadata"), "uid"));

        if (uid && shape->asking.pod.need_count > 0)
                state_note_asking(extender->state, uid, shape);
}

static const struct cluster_claim *claim_of(const struct extender *extender,
                                            const struct args *args)
{
        const char *uid =
                json_string_value(json_object_get(json_object_get(args->pod, "metadata"), "uid"));

        return uid ? cluster_claim_find(state_cluster(extender->state), uid) : NULL;
}

static int look_filter(struct extender *extender, const struct args *args, struct str *reply)
{
        struct err e = { 0 };
        struct shape *shape = shape_read(extender, args, &e);
        size_t passed = 0;

        if (!shape)
                return verbs_filter_error(e.text, reply);
        pod_note(extender, args, shape);
        struct verbs own = extender->verbs;

        own.claim = claim_of(extender, args);
        const int r = verbs_filter(&own, args, shape, reply, &passed);

        if (passed == 0) {
                state_note_refusal(extender->state);
                preempting_consider(extender->preempting, args, &shape->asking);
        }
        return r;
}

static int look_prioritize(struct extender *extender, const struct args *args, struct str *reply)
{
        struct shape *shape = shape_read(extender, args, NULL);

        return shape ? verbs_prioritize(&extender->verbs, args, shape, reply)
                     : str_append(reply, "[]");
}

/* Those that only look at nodes by name: answered as text. */
static const struct {
        const char *path;
        int (*look)(struct extender *extender, const struct args *args, struct str *reply);
        enum scheduler_verb verb;
} looks[] = { { "/filter", look_filter, VERB_FILTER },
              { "/prioritize", look_prioritize, VERB_PRIORITIZE } };

static void look_run(struct extender *extender, size_t look, struct http_exchange *exchange)
{
        size_t count;
        const char *body = http_body(exchange, &count);
        struct str reply = { 0 };
        struct err e = { 0 };
        struct args args;

        if (args_read(body, count, told_unread, &args, &e) < 0) {
                reply_text(exchange, 400, e.text);
                return;
        }
        if (looks[look].look(extender, &args, &reply) == 0)
                http_reply(exchange, 200, "application/json", reply.text, reply.length);
        else
                reply_text(exchange, 500, "out of memory\n");
        str_done(&reply);
        args_done(&args);
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
        struct asking asking;
        struct err e = { 0 };

        if (asking_read(json_object_get(args, "Pod"), extender->with_gpu, &asking, &e) < 0) {
                reply_text(exchange, 400, e.text);
                return;
        }
        json_t *answer =
                verb_preempt(state_cluster(extender->state), args, &asking, clock_now_ns());

        if (answer)
                preempt_budgets_add(extender->client, state_cluster(extender->state), args, answer,
                                    on_preempt_complete, exchange);
        else
                reply_json(exchange, NULL);
}

static void verb_simulate(struct extender *extender, const json_t *args,
                          struct http_exchange *exchange)
{
        const struct simulate_options options = { .with_gpu = extender->with_gpu,
                                                  .is_spread = extender->verbs.is_spread };

        reply_json(exchange, simulate(state_cluster(extender->state), &options, args));
}

/* Those that do something, or say more than which nodes: their arguments are a tree. */
static const struct {
        const char *path;
        void (*run)(struct extender *extender, const json_t *args, struct http_exchange *exchange);
        enum scheduler_verb verb;
} verbs[] = { { "/bind", verb_bind, VERB_BIND },
              { "/preempt", verb_preempt_run, VERB_PREEMPT },
              { "/simulate", verb_simulate, VERB_SIMULATE } };

static void verb_run(struct extender *extender, size_t verb, struct http_exchange *exchange)
{
        size_t count;
        const char *body = http_body(exchange, &count);
        json_t *args = json_loadb(body, count, 0, NULL);

        if (json_is_object(args))
                verbs[verb].run(extender, args, exchange);
        else
                reply_text(exchange, 400, "the body is no JSON object\n");
        json_decref(args);
}

int extender_print_metrics(const struct extender *extender, struct str *to)
{
        const int r = scheduler_metrics_print(&extender->metrics, state_cluster(extender->state),
                                              state_is_synced(extender->state), to);

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
        size_t look = 0, verb = 0;

        while (look < sizeof looks / sizeof looks[0] && strcmp(path, looks[look].path) != 0)
                look++;
        while (verb < sizeof verbs / sizeof verbs[0] && strcmp(path, verbs[verb].path) != 0)
                verb++;
        const bool is_look = look < sizeof looks / sizeof looks[0];

        if (!is_look && verb == sizeof verbs / sizeof verbs[0])
                return false;
        /* Half a picture would place two pods on one card. */
        if (!state_is_synced(extender->state)) {
                reply_text(exchange, 503, "the cluster is not known yet\n");
                return true;
        }
        if ((is_look || verbs[verb].verb != VERB_SIMULATE) && !leads(extender)) {
                reply_text(exchange, 503, "another replica decides, or none does yet\n");
                return true;
        }
        if (is_look)
                look_run(extender, look, exchange);
        else
                verb_run(extender, verb, exchange);
        scheduler_metrics_add(&extender->metrics, is_look ? looks[look].verb : verbs[verb].verb,
                              &clock);
        return true;
}

static void on_request(void *owner, struct http_exchange *exchange)
{
        struct extender *extender = owner;
        const char *path = http_path(exchange);

        if (http_fault(exchange)) {
                reply_text(exchange, http_fault(exchange), "the request is refused\n");
                return;
        }
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
                reply_text(exchange, 404,
                           "there is /filter, /prioritize, /bind, /preempt, /simulate, /healthz, "
                           "/readyz and "
                           "/metrics\n");
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
                .verbs = { .cluster = state_cluster(state), .is_spread = options->is_spread },
                .preempting = options->preempting,
                .lease = options->lease,
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
