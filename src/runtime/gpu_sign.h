/* gpu_sign: by what a container's configuration shows that it wants a GPU, and how all of it is
 * taken away: what a container has of a GPU comes from its share, never from its image or its pod's
 * author. */
#pragma once

#include "spec.h"

/* The sign, for a sentence: "NVIDIA_VISIBLE_DEVICES=all". NULL: a plain container. The text is the
 * spec's or the caller's. */
const char *gpu_sign_find(const struct spec *spec, char text[static 128]);

/* Takes out every sign: variables, device nodes and their rules, mounts of the driver. */
void gpu_sign_remove(struct spec *spec);
