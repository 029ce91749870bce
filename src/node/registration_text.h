/* registration_text: what a node says of its GPUs, in the form that users' tools already read. */
#pragma once

#include "gpu.h"
#include "node_options.h"

#define REGISTRATION_DEVICES "nvidia.com/node-device-register"
#define REGISTRATION_CONFIG  "nvidia.com/node-config-info"

#define REGISTRATION_LINKS "vgpu.io/node-links"

/* JSON texts, the caller's; NULL: out of memory. */
char *registration_devices(const struct gpu_set *set, const struct node_options *options);
char *registration_config(const struct node_options *options);
/* [[id,id,link],…], those pairs that are linked; NULL: none is. */
char *registration_links(const struct gpu_set *set);
