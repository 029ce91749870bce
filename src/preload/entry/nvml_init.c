/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's door: who gets no GPU by CUDA sees none by NVML. A refusal leaves the library uninitialised, so
 * that every other function of it refuses, too. */
#include "admission.h"
#include "start.h"

static nvmlReturn_t admit(nvmlReturn_t result)
{
        if (result != NVML_SUCCESS || admission_check(true) == 0)
                return result;
        real_nvml.nvmlShutdown();
        return NVML_ERROR_NO_PERMISSION;
}

nvmlReturn_t hook_nvmlInit(nvmlInit_fn *real)
{
        return start_refusal() ? NVML_ERROR_NO_PERMISSION : admit(real());
}

nvmlReturn_t hook_nvmlInit_v2(nvmlInit_v2_fn *real)
{
        return start_refusal() ? NVML_ERROR_NO_PERMISSION : admit(real());
}

nvmlReturn_t hook_nvmlInitWithFlags(nvmlInitWithFlags_fn *real, unsigned int flags)
{
        return start_refusal() ? NVML_ERROR_NO_PERMISSION : admit(real(flags));
}
