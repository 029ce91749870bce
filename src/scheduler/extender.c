/* The verbs over HTTP. */
#include "extender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "clock.h"
#include "http_server.h"
#include "list.h"
#include "scope.h"
#include "verbs.h"

struct extender {
        struct loop *loop;
        struct state *state;
        struct kube_client *client;
        struct http_server *http;
        struct verbs verbs;
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

/* Bind names the pod only: what it asks for is known from here, or from the watch. */
static void pod_note(struct extender *extender, const json_t *args)
{
        const json_t *pod = json_object_get(args, "Pod");
        const char *uid =
                json_string_value(json_object_get(json_object_get(pod, "metadata"), "uid"));
        struct asking asking;

        if (uid && asking_read(pod, extender->verbs.with_gpu, &asking, NULL) == 0 &&
            asking.pod.need_count > 0)
                state_note_asking(extender->state, uid, &asking);
}

static void verb_filter(struct extender *extender, const json_t *args,
                        struct http_exchange *exchange)
{
        json_t *result;

        pod_note(extender, args);
        result = verbs_filter(&extender->verbs, args);
        if (json_array_size(json_object_get(result, "NodeNames")) == 0)
                state_note_refusal(extender->state);
        reply_json(exchange, result);
}

/* What filter would say, with nothing remembered: for autoscalers. */
static void verb_simulate(struct extender *extender, const json_t *args,
                          struct http_exchange *exchange)
{
        reply_json(exchange, verbs_filter(&extender->verbs, args));
}

static void verb_prioritize(struct extender *extender, const json_t *args,
                            struct http_exchange *exchange)
{
        reply_json(exchange, verbs_prioritize(&extender->verbs, args));
}

static void verb_bind(struct extender *extender, const json_t *args, struct http_exchange *exchange)
{
        binding_begin(extender->state, extender->client, args, exchange);
}

static const struct {
        const char *path;
        void (*run)(struct extender *extender, const json_t *args, struct http_exchange *exchange);
} verbs[] = { { "/filter", verb_filter },
              { "/prioritize", verb_prioritize },
              { "/bind", verb_bind },
              { "/simulate", verb_simulate } };

static void verb_run(struct extender *extender, size_t verb, struct http_exchange *exchange)
{
        size_t count;
        const char *body = http_body(exchange, &count);
        json_t *args;

        /* Half a picture would place two pods on one card. */
        if (!state_is_synced(extender->state)) {
                reply_text(exchange, 503, "the cluster is not known yet\n");
                return;
        }
        args = json_loadb(body, count, 0, NULL);
        if (json_is_object(args))
                verbs[verb].run(extender, args, exchange);
        else
                reply_text(exchange, 400, "the body is no JSON object\n");
        json_decref(args);
}

static void on_request(void *owner, struct http_exchange *exchange)
{
        struct extender *extender = owner;
        const char *path = http_path(exchange);

        if (http_fault(exchange)) {
                reply_text(exchange, http_fault(exchange), "the request is refused\n");
                return;
        }
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
                if (strcmp(path, verbs[i].path) == 0) {
                        verb_run(extender, i, exchange);
                        return;
                }
        }
        if (strcmp(path, "/healthz") == 0)
                reply_text(exchange, 200, "ok\n");
        else if (strcmp(path, "/readyz") == 0)
                reply_text(exchange, state_is_synced(extender->state) ? 200 : 503,
                           state_is_synced(extender->state) ? "ok\n"
                                                            : "the cluster is not known yet\n");
        else
                reply_text(
                        exchange, 404,
                        "there is /filter, /prioritize, /bind, /simulate, /healthz and /readyz\n");
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
                .verbs = { .cluster = state_cluster(state),
                           .with_gpu = options->with_gpu,
                           .is_spread = options->is_spread },
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
