/* SPDX-License-Identifier: Apache-2.0 */
/* container_name: how the container's engine calls it, noted for vgpu-node. */
#pragma once

#include "spec.h"

/* Into the file "engine" of the container's folder: the name, and the engine's file that has it, a line each. Where
 * no engine has a name for it nothing is noted. */
void container_name_note(const struct spec *spec, const char *bundle, const char *id,
                         const char *folder);
