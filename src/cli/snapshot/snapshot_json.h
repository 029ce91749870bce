/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot as JSON: one object, the names of docs/reference/json.md. */
#pragma once

#include "json_out.h"
#include "snapshot.h"

void snapshot_json(struct json_out *json, const struct snapshot *snapshot);
