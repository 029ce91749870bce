/* SPDX-License-Identifier: Apache-2.0 */
/* engine_name: how a container engine calls a container, as its users do. The OCI configuration does not have
 * it: Docker and Podman keep it in a file of theirs, which changes when the container is renamed; nerdctl
 * writes an annotation. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum { ENGINE_NAME = 128, ENGINE_PATH = 4096 };

/* The engine's file with the name of the container that has this configuration, bundle and id. */
bool engine_name_find(const json_t *config, const char *bundle, const char *id,
                      char ret_path[static ENGINE_PATH]);
/* The name that such a file has for it now. */
bool engine_name_read(const char *path, const char *id, char ret_name[static ENGINE_NAME]);
/* The name in the annotations of the configuration. */
bool engine_name_noted(const json_t *config, char ret_name[static ENGINE_NAME]);
