/* SPDX-License-Identifier: Apache-2.0 */
/* When code gets onto the GPU: with the module, or with the first use of a function. */
#include <stdlib.h>
#include <string.h>

#include "sim_cuda.h"

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
        const char *wish = getenv("CUDA_MODULE_LOADING");

        if (!mode)
                return CUDA_ERROR_INVALID_VALUE;
        *mode = wish && strcmp(wish, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING
                                                   : CU_MODULE_LAZY_LOADING;
        return CUDA_SUCCESS;
}
