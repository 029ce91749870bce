/* SPDX-License-Identifier: Apache-2.0 */
/* registration_text: what a node says of its GPUs, in the form that users' tools already read. */
#pragma once

#include "gpu.h"
#include "node_options.h"
#include "registration.h"

#define REGISTRATION_DEVICES "nvidia.com/node-device-register"
#define REGISTRATION_CONFIG  "nvidia.com/node-config-info"

#define REGISTRATION_LINKS "vgpu.io/node-links"

/* JSON texts, the caller's; NULL: out of memory. */
char *registration_devices(const struct gpu_set *set, const struct node_options *options);
char *registration_config(const struct node_options *options);
/* [[id,id,link],…], those pairs that are linked; NULL: none is. */
char *registration_links(const struct gpu_set *set);
/* As Volcano's scheduler reads it: "UUID,NUMBER,MIB,TYPE,HEALTH,MODE:" for each GPU. It reads neither
 * health nor at MIG: a GPU that takes no shares has the number 0. */
char *registration_volcano(const struct gpu_set *set, const struct node_options *options);

/* All of it, as the options say. */
struct registration_content registration_content_make(const struct gpu_set *set,
                                                      const struct node_options *options);
