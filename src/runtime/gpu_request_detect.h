/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_request_detect: does config.json ask for a GPU? All such requests are removed: what a container has of a
 * GPU comes from its share, never from its image or its pod's author. */
#pragma once

#include "spec.h"

/* The request, for a sentence: "NVIDIA_VISIBLE_DEVICES=all". NULL: a plain container. The text is the
 * spec's or the caller's. */
const char *gpu_request_detect(const struct spec *spec, char text[static 128]);

/* Removes every request: variables, device nodes and their rules, mounts of the driver. */
void gpu_request_remove(struct spec *spec);
