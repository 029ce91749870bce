/* SPDX-License-Identifier: Apache-2.0 */
/* bench_must: a call of the driver that fails ends the measuring program, which says which one it was. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_prototypes.h"

static inline void must(CUresult result, const char *what)
{
        const char *name = "?";

        if (result == CUDA_SUCCESS)
                return;
        cuGetErrorName(result, &name);
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, name);
        exit(1);
}
#define MUST(call) must(call, #call)
