/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_message: a GPU as gRPC clients get it (api/proto/vgpu.proto): what its shares do with it together. */
#pragma once

#include "node_usage.h"
#include "vgpu.pb-c.h"

/* NULL: out of memory. */
Vgpu__V1__Gpu *gpu_message_new(const struct device_usage *device, Vgpu__V1__Share *const *shares,
                               size_t count);
void gpu_message_free(Vgpu__V1__Gpu *message);
