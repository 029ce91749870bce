/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_json: a YAML document as JSON. Plain words are strings unless YAML says true, false, null or a
 * whole number. No anchors, no tags: configuration files need none, and both can be abused. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "err.h"

/* *ret_json is the caller's. The sentence names the line. */
int yaml_json_parse(const char *text, size_t count, json_t **ret_json, struct err *e);
