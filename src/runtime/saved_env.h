/* SPDX-License-Identifier: Apache-2.0 */
/* saved_env: the variables of a share. Saved in the container's folder ("saved_env", a JSON list of
 * NAME=value): an engine makes the environment of a later `exec` from its own copy of the
 * configuration. */
#pragma once

#include "spec.h"

/* Calls `put` for each of a list, until one fails. -EBADMSG: one of them is no variable. */
int env_each(struct spec *spec, const json_t *list,
             int (*put)(struct spec *spec, const char *name, const char *value));
/* Puts a list into the environment: LD_LIBRARY_PATH before the container's own, the
 * CUDA_VISIBLE_DEVICES of a container that has one not at all, the others in place of its own. */
int env_put(struct spec *spec, const json_t *list);
/* Appends those of `env` that `old` has not. 0 or -ENOMEM. */
int env_add_new(json_t *list, const json_t *env, const json_t *old);

int saved_env_write(const char *folder, const json_t *list);
/* The caller's; NULL: none were saved, or the file cannot be read. */
json_t *saved_env_read(const char *folder);
