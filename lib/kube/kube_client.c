/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to the API server, and who we are on it. */
#include "kube_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "clock.h"
#include "file.h"
#include "kube_internal.h"
#include "list.h"
#include "scope.h"
#include "str.h"

enum {
        REREAD_MS = 60000, /* kubelet renews a token long before it ends */
        AUTHORITY_BYTES = 280,
};

struct kube_client {
        struct loop *loop;
        struct http_client *http;
        struct tls_context *tls;
        struct timer reread;
        char *path; /* the prefix */
        char *token, *token_path;
        char *authorities_path;
        char *certificate, *key;
        struct timespec authorities_changed;
};

struct loop *kube_client_loop(struct kube_client *client)
{
        return client->loop;
}

static void read_token(struct kube_client *client)
{
        autofree char *text = NULL;

        if (!client->token_path || file_read(client->token_path, &text) < 0)
                return; /* the old one may still do */
        text[strcspn(text, " \t\r\n")] = '\0';
        if (*text) {
                free(client->token);
                client->token = steal(text);
        }
}

static void read_authorities(struct kube_client *client)
{
        autofree char *text = NULL;
        struct stat status;

        if (!client->authorities_path || !client->tls ||
            stat(client->authorities_path, &status) < 0 ||
            (status.st_mtim.tv_sec == client->authorities_changed.tv_sec &&
             status.st_mtim.tv_nsec == client->authorities_changed.tv_nsec) ||
            file_read(client->authorities_path, &text) < 0)
                return;
        if (tls_context_replace(client->tls,
                                &(struct tls_credentials){ .certificate = client->certificate,
                                                           .key = client->key,
                                                           .authorities = text },
                                NULL) == 0)
                client->authorities_changed = status.st_mtim;
}

void kube_client_reread(struct kube_client *client)
{
        read_token(client);
        read_authorities(client);
}

static void on_reread(struct timer *timer)
{
        struct kube_client *client = container_of(timer, struct kube_client, reread);

        kube_client_reread(client);
        loop_timer_set(client->loop, &client->reread, REREAD_MS * NS_PER_MS);
}

static int client_connect(struct kube_client *client, const struct kube_config *config,
                          struct err *e)
{
        const struct tls_credentials credentials = { .certificate = config->certificate,
                                                     .key = config->key,
                                                     .authorities = config->authorities };
        char authority[AUTHORITY_BYTES];
        struct http_client_options options = { .server_name = config->server_name,
                                               .authority = authority,
                                               .ping_ms = config->ping_ms,
                                               .pong_ms = config->pong_ms };
        int r = address_of_host(config->host, config->port, &options.address, e);

        if (r == 0 && !config->is_plain) {
                r = tls_client_new(&credentials, &client->tls, e);
                if (r == 0 && config->trusts_all)
                        tls_context_trust_all(client->tls);
                options.tls = client->tls;
        }
        if (r < 0)
                return r;
        snprintf(authority, sizeof authority, strchr(config->host, ':') ? "[%s]:%s" : "%s:%s",
                 config->host, config->port);
        r = http_client_new(client->loop, &options, &client->http);
        return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static char *copy(const char *text)
{
        return text ? strdup(text) : NULL;
}

int kube_client_new(struct loop *loop, const struct kube_config *config,
                    struct kube_client **ret_client, struct err *e)
{
        struct kube_client *client = calloc(1, sizeof *client);
        int r;

        if (!client)
                return err_set(e, -ENOMEM, "out of memory");
        client->loop = loop;
        client->reread.on_due = on_reread;
        client->path = copy(config->path);
        client->token = copy(config->token);
        client->token_path = copy(config->token_path);
        client->authorities_path = copy(config->authorities_path);
        client->certificate = copy(config->certificate);
        client->key = copy(config->key);
        r = client_connect(client, config, e);
        if (r < 0) {
                kube_client_free(client);
                return r;
        }
        kube_client_reread(client);
        loop_timer_set(loop, &client->reread, REREAD_MS * NS_PER_MS);
        *ret_client = client;
        return 0;
}

void kube_client_free(struct kube_client *client)
{
        if (!client)
                return;
        loop_timer_clear(client->loop, &client->reread);
        http_client_free(client->http);
        tls_context_free(client->tls);
        free(client->path);
        free(client->token);
        free(client->token_path);
        free(client->authorities_path);
        free(client->certificate);
        free(client->key);
        free(client);
}

static int add(struct fields *fields, const char *name, const char *value)
{
        return fields_add(fields, name, strlen(name), value, strlen(value));
}

static int add_bearer(struct fields *fields, const char *name, const char *token)
{
        struct str bearer = { 0 };
        int r = str_appendf(&bearer, "Bearer %s", token);

        if (r == 0)
                r = add(fields, name, bearer.text);
        if (bearer.text)
                explicit_bzero(bearer.text, bearer.length);
        str_done(&bearer);
        return r;
}

static int add_fields(const struct kube_client *client, const struct kube_send *send,
                      struct fields *fields)
{
        int r = add(fields, "accept", "application/json");

        if (r == 0)
                r = add(fields, "user-agent", "vgpu");
        if (r == 0 && send->body)
                r = add(fields, "content-type",
                        send->content_type ? send->content_type : "application/json");
        if (r == 0 && client->token)
                r = add_bearer(fields, "authorization", client->token);
        if (r == 0 && send->passed_token)
                r = add_bearer(fields, KUBE_PASSED_AUTHORIZATION, send->passed_token);
        return r;
}

int kube_client_send(struct kube_client *client, const struct kube_send *send,
                     const struct http_call_events *events, void *owner,
                     struct http_call **ret_call)
{
        struct fields fields = { 0 };
        struct str path = { 0 };
        int r = str_appendf(&path, "%s%s", client->path ? client->path : "", send->path);

        if (r == 0)
                r = add_fields(client, send, &fields);
        if (r == 0) {
                const struct http_call_request request = { .method = send->method,
                                                           .path = path.text,
                                                           .fields = &fields,
                                                           .body = send->body,
                                                           .body_count = send->body_count };

                r = http_client_call(client->http, &request, events, owner, ret_call);
        }
        fields_done(&fields);
        str_done(&path);
        return r;
}

uint64_t kube_retry_after_ms(const struct fields *head)
{
        const char *after = fields_get(head, "retry-after");
        uint64_t seconds;

        /* The API server says seconds; a date would come from something in between. */
        return after && str_parse_u64(after, &seconds) == 0 && seconds < 86400 ? seconds * 1000 : 0;
}
