/* SPDX-License-Identifier: Apache-2.0 */
/* kube_authorizer: lets HTTP requests pass whose bearer token the API server knows, and whose owner may do that to
 * that path (kube_access.h). Others get 401, 403 or 503. The token is in "authorization", or where the API server
 * passed the request on, in KUBE_PASSED_AUTHORIZATION. */
#pragma once

#include "http_server.h"
#include "kube_client.h"

struct kube_authorizer;

/* The client lives longer. 0, -ENOMEM or -EIO. */
int kube_authorizer_new(struct kube_client *client, struct kube_authorizer **ret_authorizer);
/* Answers what waits: before the servers that use it. NULL is fine. */
void kube_authorizer_free(struct kube_authorizer *authorizer);

/* As servers take it; lives as long as the authorizer. */
const struct http_authorizer *kube_authorizer_http(const struct kube_authorizer *authorizer);
