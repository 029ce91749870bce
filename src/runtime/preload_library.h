/* SPDX-License-Identifier: Apache-2.0 */
/* preload_library: where libvgpu.so is on this node. */
#pragma once

#include <linux/limits.h>
#include <stdbool.h>

/* Beside this program: in the build tree, or as installed. False: it is not there. */
bool preload_library_find(char ret_path[static PATH_MAX]);
