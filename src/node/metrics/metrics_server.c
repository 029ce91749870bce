/* SPDX-License-Identifier: Apache-2.0 */
/* The status server, what it is protected by, and the order in which they end. */
#include "metrics_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kube_authorizer.h"
#include "log.h"
#include "tls_keeper.h"

enum { LEAF_DAYS = 365 };

struct metrics_server {
        struct kube_authorizer *authorizer; /* NULL: everybody may read */
        struct tls_keeper *keeper;          /* NULL: plain */
        struct status_server *status;
};

static void on_change(void *owner, const struct err *e)
{
        (void)owner;
        if (e)
                log_warn("cannot renew the certificate of metrics, the old one stays in use: %s",
                         e->text);
        else
                log_info("metrics have a new certificate");
}

static int keeper_new(struct metrics_server *server, struct loop *loop,
                      const struct node_options *options, struct err *e)
{
        static const char *const names[] = { "vgpu-node", "localhost", "127.0.0.1", NULL };
        const struct tls_keeper_options keeping = { .certificate_path =
                                                            options->metrics_certificate,
                                                    .key_path = options->metrics_key,
                                                    .may_lack_files = true,
                                                    .names = names,
                                                    .days = LEAF_DAYS,
                                                    .on_change = on_change };

        return tls_keeper_new(loop, &keeping, &server->keeper, e);
}

static int protect(struct metrics_server *server, struct loop *loop,
                   const struct node_options *options, struct kube_client *client, struct err *e)
{
        int r = options->has_metrics_tls ? keeper_new(server, loop, options, e) : 0;

        if (r < 0)
                return err_context(e, r, "metrics");
        if (options->is_metrics_authorized)
                r = kube_authorizer_new(client, &server->authorizer);
        return r < 0 ? err_set(e, r, "cannot authorize readers of metrics: %s", strerror(-r)) : 0;
}

int metrics_server_new(struct loop *loop, const struct node_options *options,
                       struct kube_client *client, const struct status_source *source,
                       struct metrics_server **ret_server, struct err *e)
{
        struct metrics_server *server = calloc(1, sizeof *server);
        int r = server ? protect(server, loop, options, client, e) : -ENOMEM;

        if (r == 0) {
                const struct status_door door = {
                        .address = &options->metrics_address,
                        .tls = server->keeper ? tls_keeper_context(server->keeper) : NULL,
                        .authorizer = kube_authorizer_http(server->authorizer),
                };

                r = status_server_new(loop, &door, source, &server->status);
        }
        if (r < 0) {
                metrics_server_free(server);
                return r;
        }
        *ret_server = server;
        return 0;
}

void metrics_server_free(struct metrics_server *server)
{
        if (!server)
                return;
        kube_authorizer_free(server->authorizer); /* what waits for it is answered now */
        status_server_free(server->status);
        tls_keeper_free(server->keeper);
        free(server);
}
