/* SPDX-License-Identifier: Apache-2.0 */
/* registration_text: what a node says of its GPUs, in the form that users' tools already read. */
#pragma once

#include "gpu.h"
#include "node_options.h"
#include "registration.h"

#define REGISTRATION_DEVICES "nvidia.com/node-device-register"
#define REGISTRATION_CONFIG  "nvidia.com/node-config-info"

#define REGISTRATION_LINKS "vgpu.io/node-links"

/* All of it, as the options say. */
struct registration_content registration_content_make(const struct gpu_set *set,
                                                      const struct node_options *options);
