/* Binding: the decision is made, set aside, and written with the pod's node in one request. */
#pragma once

#include "http_server.h"
#include "state.h"

/* Answers the exchange of a bind (ExtenderBindingArgs), now or later. */
void binding_begin(struct state *state, struct kube_client *client, const json_t *args,
                   struct http_exchange *exchange);
