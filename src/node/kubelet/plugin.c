/* SPDX-License-Identifier: Apache-2.0 */
/* The device plugin: waiting → serving → registering → registered, and back. */
#include "plugin.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backoff.h"
#include "clock.h"
#include "grpc_client.h"
#include "grpc_server.h"
#include "list.h"
#include "log.h"
#include "plugin_service.h"

enum {
        REGISTER_MS = 10000,
        UNHEARD_MS = 15000, /* registered, but nobody listens: kubelet lost it */
        EMPTY_MS = 5000, /* since it was registered: what was said may be older than that */
        REQUEST_BYTES = 1 << 20,
};

/* Which file a name stands for; a new socket of the same name is another. */
struct identity {
        dev_t device;
        ino_t inode;
        struct timespec born;
};

struct plugin {
        struct loop *loop;
        char *resource, *endpoint; /* the socket's name in the folder */
        char *socket_path, *kubelet_path;
        struct plugin_service service;
        struct grpc_server *server;
        struct http_client *kubelet;
        struct grpc_request *request; /* Register, while it is outstanding */
        struct timer retry;
        struct backoff backoff;
        struct identity own, kubelets;
        uint64_t registered_ns; /* 0: not registered */
        uint64_t registrations;
        bool is_listening;
};

static struct identity identity_of(const char *path)
{
        struct stat status;

        if (lstat(path, &status) < 0)
                return (struct identity){ 0 };
        return (struct identity){ status.st_dev, status.st_ino, status.st_ctim };
}

static bool identity_is(const struct identity *a, const struct identity *b)
{
        return a->inode && a->device == b->device && a->inode == b->inode &&
               a->born.tv_sec == b->born.tv_sec && a->born.tv_nsec == b->born.tv_nsec;
}

static void plugin_listen(struct plugin *plugin)
{
        char text[PATH_MAX];
        struct address address;
        struct err e = { 0 };
        int r;

        grpc_server_unlisten(plugin->server);
        snprintf(text, sizeof text, "unix:%s", plugin->socket_path);
        r = address_parse(text, &address, &e);
        if (r == 0)
                r = grpc_server_listen(plugin->server, &address, 0600, NULL, &e);
        plugin->is_listening = r == 0;
        if (r < 0 && plugin->backoff.tries == 0)
                log_warn("%s: %s", plugin->resource, e.text);
        plugin->own = identity_of(plugin->socket_path);
}

static void retry_later(struct plugin *plugin)
{
        uint64_t delay_ms = backoff_next_ms(&plugin->backoff, backoff_chance(), 0);

        loop_timer_set(plugin->loop, &plugin->retry, delay_ms * NS_PER_MS);
}

static void on_registered(void *owner, enum grpc_status status, const char *text)
{
        struct plugin *plugin = owner;

        plugin->request = NULL;
        if (status != GRPC_OK) {
                /* Once per trouble: kubelet may be away for hours. */
                if (plugin->backoff.tries == 0)
                        log_warn("%s: kubelet refuses the registration: %s %s", plugin->resource,
                                 grpc_status_name(status), text);
                return retry_later(plugin);
        }
        plugin->registered_ns = clock_now_ns();
        plugin->registrations++;
        http_client_hang_up(
                plugin->kubelet); /* until kubelet restarts there is nothing more to say */
        backoff_reset(&plugin->backoff);
        log_info("%s: registered with kubelet, %u of them", plugin->resource,
                 slots_count(&plugin->service.slots));
}

static void plugin_register(struct plugin *plugin)
{
        static const struct grpc_request_events events = { .on_end = on_registered };
        V1beta1__RegisterRequest message = V1BETA1__REGISTER_REQUEST__INIT;
        V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
        const struct grpc_request_options call = {
                .path = "/v1beta1.Registration/Register",
                .message = &message.base,
                .answer = &v1beta1__empty__descriptor,
                .timeout_ms = REGISTER_MS,
        };

        message.version = (char *)"v1beta1";
        message.endpoint = plugin->endpoint;
        message.resource_name = plugin->resource;
        options.pre_start_required = plugin_service_wants_pre_start(&plugin->service);
        message.options = &options;
        plugin->kubelets = identity_of(plugin->kubelet_path);
        http_client_hang_up(plugin->kubelet); /* the socket may be another one now */
        if (grpc_client_call(plugin->loop, plugin->kubelet, &call, &events, plugin,
                             &plugin->request) < 0) {
                plugin->request = NULL;
                retry_later(plugin);
        }
}

static void plugin_restart(struct plugin *plugin)
{
        plugin->registered_ns = 0;
        loop_timer_clear(plugin->loop, &plugin->retry);
        plugin_listen(plugin);
        if (plugin->is_listening && identity_of(plugin->kubelet_path).inode)
                plugin_register(plugin);
        else
                retry_later(plugin);
}

static void on_retry(struct timer *timer)
{
        plugin_restart(container_of(timer, struct plugin, retry));
}

/* kubelet removes our socket when it starts, and makes its own anew: either is the sign. */
static bool is_forgotten(const struct plugin *plugin)
{
        const struct identity own = identity_of(plugin->socket_path);
        const struct identity kubelets = identity_of(plugin->kubelet_path);

        if (!identity_is(&own, &plugin->own) || !identity_is(&kubelets, &plugin->kubelets))
                return true;
        return !plugin_service_is_heard(&plugin->service) &&
               clock_now_ns() - plugin->registered_ns > UNHEARD_MS * NS_PER_MS;
}

/* Is there a kubelet that was not tried yet? One that was killed leaves its socket behind; and what is
 * changed in the folder while we wait may be our own sockets. */
static bool is_new_kubelet(const struct plugin *plugin)
{
        const struct identity now = identity_of(plugin->kubelet_path);

        return now.inode && !identity_is(&now, &plugin->kubelets);
}

void plugin_check(struct plugin *plugin)
{
        if (plugin->request) /* it is checked when that is over */
                return;
        if (plugin->registered_ns && !is_forgotten(plugin))
                return;
        if (plugin->registered_ns)
                log_info("%s: kubelet lost the registration, registering again", plugin->resource);
        else if (plugin->retry.is_set && !is_new_kubelet(plugin))
                return; /* kubelet is away: nothing to hurry for */
        backoff_reset(&plugin->backoff);
        plugin_restart(plugin);
}

/* It listens to us, and has lost us all the same. */
void plugin_found_empty(struct plugin *plugin)
{
        const bool is_offering =
                plugin->registered_ns && slots_healthy(&plugin->service.slots) > 0 &&
                clock_now_ns() - plugin->registered_ns > EMPTY_MS * NS_PER_MS;

        if (!is_offering || plugin->request)
                return;
        log_warn("%s: kubelet gives out none of them, as after another plugin of this name; "
                 "registering again",
                 plugin->resource);
        plugin_restart(plugin);
}

const char *plugin_resource(const struct plugin *plugin)
{
        return plugin->resource;
}

struct plugin_state plugin_state(const struct plugin *plugin)
{
        const struct slots *slots = &plugin->service.slots;

        return (struct plugin_state){
                .resource = plugin->resource,
                .count = slots_count(slots),
                .healthy = slots_healthy(slots),
                .is_registered = plugin->registered_ns && plugin_service_is_heard(&plugin->service),
                .registrations = plugin->registrations,
        };
}

void plugin_set_offer(struct plugin *plugin, const struct offer *offer)
{
        plugin_service_set_offer(&plugin->service, offer);
}

/* "nvidia.com/vgpu" → "vgpu-nvidia.com-vgpu.sock", in kubelet's folder. */
static int plugin_name(struct plugin *plugin, const char *folder, const char *resource)
{
        plugin->resource = strdup(resource);
        if (!plugin->resource || asprintf(&plugin->endpoint, "vgpu-%s.sock", resource) < 0)
                return -ENOMEM;
        for (char *at = plugin->endpoint; *at; at++)
                if (*at == '/')
                        *at = '-';
        if (asprintf(&plugin->socket_path, "%s/%s", folder, plugin->endpoint) < 0 ||
            asprintf(&plugin->kubelet_path, "%s/kubelet.sock", folder) < 0)
                return -ENOMEM;
        return 0;
}

static int plugin_connect(struct plugin *plugin)
{
        const struct http_limits limits = { .connections = 16,
                                            .body_bytes = REQUEST_BYTES,
                                            .buffered_bytes = 4 * REQUEST_BYTES };
        struct http_client_options options = { 0 };
        char text[PATH_MAX];
        int r;

        snprintf(text, sizeof text, "unix:%s", plugin->kubelet_path);
        r = address_parse(text, &options.address, NULL);
        if (r == 0)
                r = http_client_new(plugin->loop, &options, &plugin->kubelet);
        if (r == 0)
                r = grpc_server_new(plugin->loop, &limits, plugin_service_methods, &plugin->service,
                                    &plugin->server);
        return r;
}

int plugin_new(struct loop *loop, const char *folder, const struct offer *offer,
               const struct plugin_counsel *counsel, struct plugin **ret_plugin)
{
        struct plugin *plugin = calloc(1, sizeof *plugin);
        int r;

        if (!plugin)
                return -ENOMEM;
        plugin->loop = loop;
        plugin->retry.on_due = on_retry;
        plugin->backoff = (struct backoff){ .first_ms = 200, .most_ms = 5000 };
        r = plugin_name(plugin, folder, offer->resource);
        if (r == 0)
                r = plugin_service_init(&plugin->service, plugin->resource, offer, counsel);
        if (r == 0)
                r = plugin_connect(plugin);
        if (r < 0) {
                plugin_free(plugin);
                return r;
        }
        plugin_restart(plugin);
        *ret_plugin = plugin;
        return 0;
}

void plugin_free(struct plugin *plugin)
{
        if (!plugin)
                return;
        loop_timer_clear(plugin->loop, &plugin->retry);
        if (plugin->request)
                grpc_request_cancel(plugin->request);
        http_client_free(plugin->kubelet);
        grpc_server_free(plugin->server);
        plugin_service_done(&plugin->service);
        free(plugin->resource);
        free(plugin->endpoint);
        free(plugin->socket_path);
        free(plugin->kubelet_path);
        free(plugin);
}
