/* SPDX-License-Identifier: Apache-2.0 */
/* spec_edit: variables, mounts and devices of a container's configuration. */
#pragma once

#include "spec.h"

/* The value of a variable, the last if there are several; NULL: it is not set. */
const char *spec_env_get(const struct spec *spec, const char *name);
/* Instead of all that had this name. 0 or -ENOMEM. */
int spec_env_set(struct spec *spec, const char *name, const char *value);

struct spec_mount {
        const char *source, *destination;
        bool is_readonly;
};
/* A bind mount, behind all others: whatever is mounted above it or at its place came before. */
int spec_mount_add(struct spec *spec, const struct spec_mount *mount);
/* The same before the first mount below its destination. */
int spec_mount_insert(struct spec *spec, const struct spec_mount *mount);

struct spec_device {
        const char *path;
        unsigned major, minor;
};
/* A character device that everybody in the container may use, and the rule that allows it. */
int spec_device_add(struct spec *spec, const struct spec_device *device);

/* Takes out the members of a part that match. */
void spec_remove(struct spec *spec, enum spec_part part,
                 bool (*matches)(const json_t *item, void *owner), void *owner);
