/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_files: the files of a share that its container can write to. It can make them as large as their file
 * system, and fill that for everybody. */
#pragma once

#include <stdint.h>

#include "share.h"

enum { TENANT_FILES = 2 };

/* Cuts those that are too long back to their size. How many bytes that were, holes included; 0: none. */
uint64_t tenant_files_cut(const char *share_path);
/* The one with this index. */
void tenant_files_path(const char *share_path, unsigned index, char ret_path[static SHARE_TEXT]);
