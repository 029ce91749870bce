/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says in the annotation vgpu.io/node-links: how fast two of its GPUs reach each other. */
#pragma once

#include "node_devices.h"

#define NODE_LINKS_ANNOTATION "vgpu.io/node-links"

/* [[id,id,link],…] as a square of the GPUs' count, the caller's: 0 none, more is faster. GPUs that are
 * not there are passed over. -EPROTO: the text is none; -ENOMEM. */
int node_links_parse(const char *text, const struct vec *devices, uint8_t **ret_links,
                     struct err *e);
