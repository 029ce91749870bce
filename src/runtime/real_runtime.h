/* SPDX-License-Identifier: Apache-2.0 */
/* real_runtime: the OCI runtime behind us. */
#pragma once

#include <linux/limits.h>

#include "err.h"

/* Its path: VGPU_RUNTIME_REAL, else `wanted` (name or path), else runc or crun in PATH; never this
 * program itself. -ENOENT. */
int real_runtime_find(const char *wanted, char ret_path[static PATH_MAX], struct err *e);

/* Becomes it, with the same arguments. Returns only if that fails. */
int real_runtime_exec(const char *path, char *const *argv, struct err *e);
/* Runs it so and waits. The exit status, 128 + signal, or < 0. */
int real_runtime_run(const char *path, char *const *argv, struct err *e);
