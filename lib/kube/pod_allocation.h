/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation of a pod that is on its node, by vgpu-scheduler or Volcano. */
#pragma once

#include <jansson.h>

#include "allocation.h"

/* vgpu-scheduler's decision (vgpu.io/allocation), else Volcano's. -ENOENT: nobody decided anything;
 * -EPROTO: what stands there is damaged, or was made for another pod or node. The caller calls
 * allocation_done() after 0. */
int pod_allocation_read(const json_t *pod, struct allocation *ret_allocation, struct err *e);
