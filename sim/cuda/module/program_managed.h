/* SPDX-License-Identifier: Apache-2.0 */
/* Managed variables: one each for the host and all contexts that a program is loaded into. */
#pragma once

#include "program_content.h"

struct ptx_module;

/* The variable's address, made and filled on first use; no context is needed. It goes with the
 * program. `ptx` is a module of the program, or NULL. */
CUresult program_managed(struct program *program, size_t index, struct ptx_module *ptx,
                         CUdeviceptr *ret_address);
