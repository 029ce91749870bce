/* SPDX-License-Identifier: Apache-2.0 */
/* engine: tells a container engine of the runtime that was installed in a folder. Who is told already is left
 * alone. */
#pragma once

#include "err.h"

/* Adds it to a configuration of version 2 or 3. -EPROTO: it is of another. */
int engine_containerd(const char *path, const char *to, struct err *e);
/* A file of its own, in crio.conf.d. */
int engine_crio(const char *path, const char *to, struct err *e);
