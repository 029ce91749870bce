/* SPDX-License-Identifier: Apache-2.0 */
/* Live use: what a pod's containers hold of their GPUs and use of them now, out of vgpu-node's metrics. Pure. */
#pragma once

#include <jansson.h>

/* Adds "memory_used_mib" and "cores_used_percent" (in the last second) to the GPUs of an explanation that the
 * metrics tell of; to how many. */
size_t live_use_add(const char *metrics, const char *namespace_name, const char *pod, json_t *gpus);
