/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_server: where vgpu-node's metrics and readiness are served, with which certificate, and to whom. */
#pragma once

#include "kube_client.h"
#include "node_options.h"
#include "status_server.h"

struct metrics_server;

/* The client is for those who are authorized by the API server, and lives longer. */
int metrics_server_new(struct loop *loop, const struct node_options *options,
                       struct kube_client *client, const struct status_source *source,
                       struct metrics_server **ret_server, struct err *e);
void metrics_server_free(struct metrics_server *server); /* NULL is fine */
