/* SPDX-License-Identifier: Apache-2.0 */
/* node_config: settings of single nodes, in one file for all of them (YAML or JSON):
 *
 *     nodes:
 *     - name: node-1
 *       deviceMemoryScaling: 2.0
 *       excludeDevices: [0, 3]
 *
 * A key is an option of vgpu-node, with or without dashes, in any case. "nodes" may also be called
 * "nodeconfig" or be left out (a bare list), "name" may be "nodeName". Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Hands over each setting of the node's entry, in the file's order; a list as "0,3". None: no entry.
 * -EINVAL: the file is no such file, the node has two entries, or what take() says. */
int node_config_parse(const char *text, size_t count, const char *node,
                      int (*take)(void *owner, const char *key, const char *value, struct err *e),
                      void *owner, struct err *e);
int node_config_load(const char *path, const char *node,
                     int (*take)(void *owner, const char *key, const char *value, struct err *e),
                     void *owner, struct err *e);

/* Is the key this option ("device-memory-scaling")? */
bool node_config_key_is(const char *key, const char *option);
