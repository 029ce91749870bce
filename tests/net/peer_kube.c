/* SPDX-License-Identifier: Apache-2.0 */
/* peer_kube: our client of the API server, to be tried by a server that misbehaves, or by a real one.
 *
 * usage: peer_kube watch KUBECONFIG PATH QUERY PAGE      a line per change, until SIGTERM
 *        peer_kube call KUBECONFIG METHOD PATH [BODY]    status, reason, message
 *        peer_kube update KUBECONFIG PATH KEY VALUE      sets an annotation */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube_client.h"
#include "kube_watch.h"
#include "loop_process.h"

static void on_signal(struct loop_signals *signals, int number)
{
        (void)number;
        loop_stop(signals->watch.loop);
}

static void say(const char *word, const char *text)
{
        printf("%s %s\n", word, text);
        fflush(stdout);
}

static struct kube_watch *peer_watch;

static void on_change(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *object)
{
        static const char *const words[] = { "added", "modified", "deleted" };

        (void)owner;
        printf("%s %s/%s %s %s\n", words[change], name->namespace_name, name->name, name->uid,
               object ? json_string_value(json_object_get(json_object_get(object, "metadata"),
                                                          "resourceVersion"))
                      : "-");
        fflush(stdout);
        /* As if there had been no memory for it. */
        if (strcmp(name->name, "too-much") == 0 && change == KUBE_ADDED)
                kube_watch_repeat(peer_watch);
}

static void on_synced(void *owner)
{
        (void)owner;
        say("synced", "");
}

static void on_trouble(void *owner, const struct err *e)
{
        (void)owner;
        say("trouble", e->text);
}

static void on_bad(void *owner, const struct err *e)
{
        (void)owner;
        say("bad", e->text);
}

static int watch(struct loop *loop, struct kube_client *client, char *argv[])
{
        const struct kube_watch_options options = { .path = argv[3],
                                                    .query = argv[4],
                                                    .page = (unsigned)atoi(argv[5]),
                                                    .object_bytes = 1 << 20,
                                                    .first_ms = 20,
                                                    .most_ms = 200,
                                                    .on_change = on_change,
                                                    .on_synced = on_synced,
                                                    .on_trouble = on_trouble,
                                                    .on_bad = on_bad };
        struct loop_signals signals = { .on_signal = on_signal };
        sigset_t set;
        int r;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        r = loop_signals_open(loop, &signals, &set);
        if (r == 0)
                r = kube_watch_new(client, &options, &peer_watch);
        if (r < 0)
                return r;
        say("ready", "");
        r = loop_run(loop);
        kube_watch_free(peer_watch);
        loop_signals_close(&signals);
        return r;
}

static void on_done(void *owner, const struct kube_answer *answer)
{
        const char *note = json_string_value(json_object_get(answer->body, "note"));

        printf("%d [%s] %s%s%s\n", answer->status, answer->reason, answer->message,
               note ? "note " : "", note ? note : "");
        loop_stop(owner);
}

static int call(struct loop *loop, struct kube_client *client, char *argv[])
{
        json_t *body = argv[5] ? json_loads(argv[5], 0, NULL) : NULL;
        const struct kube_request request = {
                .method = argv[3], .path = argv[4], .body = body, .timeout_ms = 2000, .tries = 4
        };
        struct kube_call *made;
        int r = kube_client_call(client, &request, on_done, loop, &made);

        json_decref(body);
        return r < 0 ? r : loop_run(loop);
}

struct setting {
        struct loop *loop;
        const char *key, *value;
};

static bool change(void *owner, json_t *object)
{
        const struct setting *setting = owner;
        json_t *metadata = json_object_get(object, "metadata");
        json_t *annotations = json_object_get(metadata, "annotations");

        if (!annotations) {
                annotations = json_object();
                json_object_set_new(metadata, "annotations", annotations);
        }
        json_object_set_new(annotations, setting->key, json_string(setting->value));
        return true;
}

static void on_updated(void *owner, const struct kube_answer *answer)
{
        on_done(((struct setting *)owner)->loop, answer);
}

static int update(struct loop *loop, struct kube_client *client, char *argv[])
{
        struct setting setting = { loop, argv[4], argv[5] };
        struct kube_update *made;
        int r = kube_client_update(client, argv[3], change, on_updated, &setting, &made);

        return r < 0 ? r : loop_run(loop);
}

int main(int argc, char *argv[])
{
        struct kube_config config;
        struct kube_client *client;
        struct loop *loop;
        struct err e = { 0 };
        int r;

        if (argc < 5)
                return 2;
        r = kube_config_load(argv[2], &config, &e);
        if (r == 0)
                r = loop_new(&loop);
        if (r == 0) {
                config.ping_ms = 1000; /* a test does not wait as long as a cluster may */
                config.pong_ms = 2000;
        }
        if (r == 0)
                r = kube_client_new(loop, &config, &client, &e);
        if (r < 0) {
                fprintf(stderr, "peer_kube: %s\n", e.text);
                return 1;
        }
        kube_config_done(&config);
        if (strcmp(argv[1], "watch") == 0 && argc == 6)
                r = watch(loop, client, argv);
        else if (strcmp(argv[1], "update") == 0 && argc == 6)
                r = update(loop, client, argv);
        else
                r = call(loop, client, argv);
        kube_client_free(client);
        loop_free(loop);
        return r < 0;
}
