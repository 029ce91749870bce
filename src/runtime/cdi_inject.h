/* SPDX-License-Identifier: Apache-2.0 */
/* cdi_inject: devices by their CDI names ("vendor/class=name"), from the specifications in /etc/cdi
 * and /var/run/cdi, put into a container's configuration. */
#pragma once

#include <stddef.h>

#include "err.h"
#include "spec.h"

/* -ENOENT: no specification has the device. Nothing is half done: on failure the container must not
 * start. VGPU_RUNTIME_CDI names other folders, with ':' between. */
int cdi_inject(struct spec *spec, char *const *names, size_t count, struct err *e);
