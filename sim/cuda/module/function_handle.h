/* SPDX-License-Identifier: Apache-2.0 */
/* The function that a program's handle means. */
#pragma once

#include "function.h"

/* The function behind a CUfunction, or behind a CUkernel on the current context, whose library is
 * loaded there on first use. NULL: `handle` is neither, or the library could not be loaded. */
struct function *function_get(CUfunction handle);
/* The same with the reason: INVALID_HANDLE, INVALID_CONTEXT, OUT_OF_MEMORY … */
CUresult function_need(CUfunction handle, struct function **ret_function);
