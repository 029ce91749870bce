/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations: serves vgpu.v1.Allocations/Get over gRPC, to clients with a certificate of ours. Nodes fetch the
 * allocation of a container here when their own watch lags. */
#pragma once

#include "address.h"
#include "state.h"
#include "tls.h"

struct allocations;

/* Keeps the book from now on: to be called before the state tells. The state lives longer. */
int allocations_new(struct loop *loop, struct state *state, struct allocations **ret_allocations);
/* Serves. tls lives longer. */
int allocations_listen(struct allocations *allocations, const struct address *address,
                       struct tls_context *tls, struct err *e);
unsigned allocations_port(const struct allocations *allocations);
void allocations_free(struct allocations *allocations); /* NULL is fine */
