/* SPDX-License-Identifier: Apache-2.0 */
/* peer_grpc: our gRPC, to be tried by somebody else's.
 *
 * usage: peer_grpc serve ADDRESS [FOLDER]         until SIGTERM; prints "ready PORT"
 *        peer_grpc call ADDRESS METHOD TIMEOUT_MS [TEXT]…
 *
 * With a FOLDER it speaks TLS; the authority's certificate is FOLDER/ca.pem, for both.
 *
 * It serves a device plugin: Allocate echoes the ids as variables, PreStartContainer refuses with its
 * first id as the sentence, ListAndWatch sends as many lists as Allocate was called, each longer by
 * one device; an AllocateRequest for the id "hang" is never answered. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "deviceplugin.pb-c.h"
#include "file.h"
#include "grpc_client.h"
#include "grpc_server.h"
#include "list.h"
#include "loop_process.h"
#include "tls_authority.h"

enum { WATCHERS_MOST = 64, DEVICES_MOST = 4096 };

struct plugin {
        struct loop *loop;
        struct grpc_server *server;
        struct watcher {
                struct plugin *plugin;
                struct grpc_call *call;
        } watchers[WATCHERS_MOST];
        unsigned gone_count;
        size_t device_count;
};

/* Signals have no owner in their callback. */
static struct plugin plugin = { .device_count = 1 };

static void send_list(struct grpc_call *call)
{
        V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
        static V1beta1__Device devices[DEVICES_MOST];
        static V1beta1__Device *pointers[DEVICES_MOST];
        static char ids[DEVICES_MOST][16];

        for (size_t i = 0; i < plugin.device_count; i++) {
                snprintf(ids[i], sizeof ids[i], "slot-%zu", i);
                v1beta1__device__init(&devices[i]);
                devices[i].id = ids[i];
                devices[i].health = (char *)"Healthy";
                pointers[i] = &devices[i];
        }
        list.n_devices = plugin.device_count;
        list.devices = pointers;
        grpc_send(call, &list.base);
}

static void serve_options(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

        (void)owner;
        (void)request;
        options.pre_start_required = 1;
        grpc_answer(call, &options.base);
}

static void on_watcher_gone(void *owner)
{
        ((struct watcher *)owner)->call = NULL;
        plugin.gone_count++;
}

static void serve_list(void *owner, struct grpc_call *call, const ProtobufCMessage *request)
{
        (void)owner;
        (void)request;
        for (unsigned i = 0; i < WATCHERS_MOST; i++)
                if (!plugin.watchers[i].call) {
                        plugin.watchers[i].call = call;
                        grpc_on_gone(call, on_watcher_gone, &plugin.watchers[i]);
                        send_list(call);
                        return;
                }
        grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many watchers");
}

static void serve_allocate(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        const V1beta1__AllocateRequest *request = (const void *)message;
        V1beta1__AllocateResponse answer = V1BETA1__ALLOCATE_RESPONSE__INIT;
        V1beta1__ContainerAllocateResponse container = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
        V1beta1__ContainerAllocateResponse *containers[] = { &container };
        static V1beta1__StringPair pairs[DEVICES_MOST];
        static V1beta1__StringPair *pointers[DEVICES_MOST];
        size_t count;

        (void)owner;
        if (request->n_container_requests != 1)
                return grpc_finish(call, GRPC_INVALID_ARGUMENT, "one container at a time");
        count = request->container_requests[0]->n_devices_ids;
        if (count == 1 && strcmp(request->container_requests[0]->devices_ids[0], "hang") == 0)
                return;
        for (size_t i = 0; i < count && i < DEVICES_MOST; i++) {
                v1beta1__string_pair__init(&pairs[i]);
                pairs[i].key = request->container_requests[0]->devices_ids[i];
                pairs[i].value = (char *)"given";
                pointers[i] = &pairs[i];
        }
        container.n_envs = count;
        container.envs = pointers;
        answer.n_container_responses = 1;
        answer.container_responses = containers;
        grpc_answer(call, &answer.base);
        plugin.device_count++;
        for (unsigned i = 0; i < WATCHERS_MOST; i++)
                if (plugin.watchers[i].call)
                        send_list(plugin.watchers[i].call);
}

static void serve_pre_start(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        const V1beta1__PreStartContainerRequest *request = (const void *)message;

        (void)owner;
        grpc_finish(call, GRPC_FAILED_PRECONDITION,
                    request->n_devices_ids ? request->devices_ids[0] : "no ids");
}

static const struct grpc_method methods[] = {
        { "/v1beta1.DevicePlugin/GetDevicePluginOptions", &v1beta1__empty__descriptor,
          serve_options },
        { "/v1beta1.DevicePlugin/ListAndWatch", &v1beta1__empty__descriptor, serve_list },
        { "/v1beta1.DevicePlugin/Allocate", &v1beta1__allocate_request__descriptor,
          serve_allocate },
        { "/v1beta1.DevicePlugin/PreStartContainer",
          &v1beta1__pre_start_container_request__descriptor, serve_pre_start },
        { 0 },
};

static void on_signal(struct loop_signals *signals, int number)
{
        (void)signals;
        (void)number;
        loop_stop(plugin.loop);
}

/* A server's TLS, and its authority for clients to believe. */
static struct tls_context *make_tls(const char *folder, struct err *e)
{
        static const char *const names[] = { "localhost", "127.0.0.1", NULL };
        struct tls_pair authority = { 0 }, pair = { 0 };
        struct tls_context *tls = NULL;
        char path[512];

        snprintf(path, sizeof path, "%s/ca.pem", folder);
        if (tls_authority_make("test authority", 2, &authority, e) == 0 &&
            tls_authority_sign(&authority, names, 1, &pair, e) == 0 &&
            file_replace(path, authority.certificate, strlen(authority.certificate), 0644) == 0)
                tls_server_new(&(struct tls_credentials){ .certificate = pair.certificate,
                                                          .key = pair.key },
                               &tls, e);
        tls_pair_done(&authority);
        tls_pair_done(&pair);
        return tls;
}

static int serve(struct loop *loop, const struct address *address, const char *folder)
{
        struct loop_signals signals = { .on_signal = on_signal };
        struct http_limits limits = { .request_ms = 2000 };
        struct tls_context *tls = NULL;
        struct err e = { 0 };
        sigset_t set;
        int r;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        plugin.loop = loop;
        r = loop_signals_open(loop, &signals, &set);
        if (r == 0 && folder) {
                tls = make_tls(folder, &e);
                r = tls ? 0 : -1;
        }
        if (r == 0)
                r = grpc_server_new(loop, &limits, methods, &plugin, &plugin.server);
        if (r == 0)
                r = grpc_server_listen(plugin.server, address, 0600, tls, &e);
        if (r < 0) {
                fprintf(stderr, "%s\n", e.text);
                return r;
        }
        printf("ready %u\n", grpc_server_port(plugin.server));
        fflush(stdout);
        r = loop_run(loop);
        grpc_server_free(plugin.server);
        printf("gone %u\n", plugin.gone_count);
        tls_context_free(tls);
        loop_signals_close(&signals);
        return r;
}

static void print_list(void *owner, const ProtobufCMessage *message)
{
        const V1beta1__ListAndWatchResponse *list = (const void *)message;

        (void)owner;
        if (message->descriptor == &v1beta1__list_and_watch_response__descriptor) {
                printf("list");
                for (size_t i = 0; i < list->n_devices; i++)
                        printf(" %s", list->devices[i]->id);
                printf("\n");
        } else {
                printf("answer %s\n", message->descriptor->name);
        }
        fflush(stdout);
}

static void print_end(void *owner, enum grpc_status status, const char *text)
{
        printf("%s %s\n", grpc_status_name(status), text);
        loop_stop(owner);
}

static int call(struct loop *loop, const struct address *address, const char *path,
                uint64_t timeout_ms, char *argv[])
{
        static const struct grpc_request_events events = { print_list, print_end };
        struct http_client_options where = { .address = *address };
        V1beta1__PreStartContainerRequest message = V1BETA1__PRE_START_CONTAINER_REQUEST__INIT;
        struct grpc_request_options options = { .path = path,
                                                .message = &message.base,
                                                .timeout_ms = timeout_ms,
                                                .limit_bytes = 1 << 20 };
        struct http_client *client;
        struct grpc_request *request;
        int r = http_client_new(loop, &where, &client);

        for (char **text = argv; *text; text++)
                message.n_devices_ids++;
        message.devices_ids = argv;
        options.answer = strstr(path, "ListAndWatch")
                                 ? &v1beta1__list_and_watch_response__descriptor
                                 : &v1beta1__pre_start_container_response__descriptor;
        if (r == 0)
                r = grpc_client_call(loop, client, &options, &events, loop, &request);
        if (r == 0)
                r = loop_run(loop);
        http_client_free(client);
        return r;
}

int main(int argc, char *argv[])
{
        struct address address;
        struct loop *loop;
        struct err e = { 0 };
        int r;

        if (argc < 3 || address_parse(argv[2], &address, &e) < 0 || loop_new(&loop) < 0) {
                fprintf(stderr, "peer_grpc: %s\n", e.text);
                return 2;
        }
        if (strcmp(argv[1], "serve") == 0)
                r = serve(loop, &address, argc > 3 ? argv[3] : NULL);
        else
                r = argc > 4 ? call(loop, &address, argv[3], strtoull(argv[4], NULL, 10), argv + 5)
                             : -1;
        loop_free(loop);
        return r < 0;
}
