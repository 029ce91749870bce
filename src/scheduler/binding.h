/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: makes an allocation, assumes it, and writes it with the pod's node in one request. */
#pragma once

#include "http_server.h"
#include "state.h"

/* Answers the exchange of a bind (ExtenderBindingArgs), now or later. `is_urgent`: it must not be written
 * late, for another replica may decide by then. */
void binding_begin(struct state *state, struct kube_client *client, const json_t *args,
                   bool is_urgent, struct http_exchange *exchange);
