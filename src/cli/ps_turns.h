/* What `vgpu ps --json` says of a share's turns on a GPU. */
#pragma once

#include "json_out.h"
#include "share_layout.h"

/* The member "turns"; nothing where the share has no pages. */
void ps_turns_json(struct json_out *json, const struct share_copy *copy, unsigned gpu);
