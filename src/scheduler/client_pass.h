/* SPDX-License-Identifier: Apache-2.0 */
/* The client's pass: a certificate for those who may ask for allocations, in a Secret (tls.crt, tls.key, ca.crt)
 * that nodes mount; made, and renewed long before it ends. Beside it, one that they serve metrics with
 * (metrics.crt, metrics.key): it names the Service vgpu-node of the same namespace. */
#pragma once

#include "kube_client.h"
#include "tls_authority.h"

struct client_pass;

/* The authority is copied. Goes on by itself. */
int client_pass_new(struct kube_client *client, const char *namespace_name, const char *name,
                    const struct tls_pair *authority, struct client_pass **ret_pass);
void client_pass_free(struct client_pass *pass); /* NULL is fine */
