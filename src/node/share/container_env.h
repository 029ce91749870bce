/* SPDX-License-Identifier: Apache-2.0 */
/* container_env: settings in a container's environment, as its pod has them. */
#pragma once

#include <jansson.h>

#include "err.h"
#include "share.h"

/* Rows by position among the container's devices. Only what is written out counts: a value from a
 * ConfigMap or Secret is not in the pod. `policy` is how compute is held where the environment does not say, or
 * NULL. -EINVAL: a value that means nothing; the sentence names it. */
int container_env_read(const json_t *container, const char *policy, struct share_copy *ret_wishes,
                       struct err *e);
