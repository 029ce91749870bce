/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU request of one container, as it stands in a pod or template. */
#pragma once

#include <jansson.h>

#include "err.h"
#include "request.h"

/* Reads limits and requests: limits win, and where both are they must be equal. `with_gpu` takes
 * nvidia.com/gpu as ours too. -EINVAL: it cannot be; the sentence names the container. */
int pod_request_read(const json_t *container, bool with_gpu, struct request *ret_request,
                     struct err *e);

/* -EINVAL, with the container's name before the sentence. */
int pod_request_refuse(const json_t *container, struct err *e);

const char *pod_request_name(const json_t *container); /* "?" if it has none */
