/* SPDX-License-Identifier: Apache-2.0 */
/* status_server: /metrics, /healthz and /readyz over HTTP or HTTPS. */
#pragma once

#include <stdbool.h>

#include "address.h"
#include "http_server.h"
#include "loop.h"
#include "str.h"

struct status_server;

struct status_source {
        int (*print_metrics)(void *owner, struct str *out); /* 0 or -ENOMEM */
        /* Is all there that is to be served? Appends a line for each thing that is missing. */
        bool (*is_ready)(void *owner, struct str *reasons);
        void *owner;
};

struct status_door {
        const struct address *address;            /* copied */
        struct tls_context *tls;                  /* lives longer than the server; NULL: plain */
        const struct http_authorizer *authorizer; /* who may read /metrics; NULL: everybody */
};

/* An address that is taken is tried again; that is logged. 0 or -ENOMEM. */
int status_server_new(struct loop *loop, const struct status_door *door,
                      const struct status_source *source, struct status_server **ret_server);
void status_server_free(struct status_server *server); /* NULL is fine */
