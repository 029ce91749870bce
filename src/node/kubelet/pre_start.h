/* SPDX-License-Identifier: Apache-2.0 */
/* pre_start: before kubelet starts a container it asks by the slots that it took. kubelet itself says
 * whose they are (pod-resources); unless that pod has a share here, the container does not start. */
#pragma once

#include "grpc_server.h"
#include "pod_resources.h"
#include "scheduler_fallback.h"
#include "share_book.h"

struct pre_start;

/* `fallback` is asked about pods that are not known after a second; it lives longer. NULL: nobody is. */
int pre_start_new(struct loop *loop, struct pod_resources *pod_resources, struct share_book *shares,
                  struct scheduler_fallback *fallback, struct pre_start **ret_pre_start);
void pre_start_free(struct pre_start *pre_start); /* after the servers of its calls; NULL is fine */

/* Takes the call of PreStartContainer over; it is answered within seconds. The ids are copied. */
void pre_start_serve(struct pre_start *pre_start, struct grpc_call *call, const char *resource,
                     char *const *ids, size_t id_count);
