/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of functions: a CUfunction, or a CUkernel in its place; and cuFunc*. */
#include "function_handle.h"

#include "library.h"
#include "sim_cuda.h"

static bool handle_is_plausible(const void *handle)
{
        return (uintptr_t)handle >= 4096 && (uintptr_t)handle % _Alignof(struct function) == 0;
}

CUresult function_need(CUfunction handle, struct function **ret_function)
{
        struct function *function = (struct function *)handle;

        if (!handle_is_plausible(handle))
                return CUDA_ERROR_INVALID_HANDLE;
        if (function->magic == FUNCTION_MAGIC) {
                *ret_function = function;
                return CUDA_SUCCESS;
        }
        if (!kernel_get((CUkernel)handle))
                return CUDA_ERROR_INVALID_HANDLE;
        return kernel_function((struct kernel *)handle, ret_function);
}

struct function *function_get(CUfunction handle)
{
        struct function *function;

        return function_need(handle, &function) == CUDA_SUCCESS ? function : NULL;
}

CUresult sim_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
        struct function *function;

        if (!pi || (unsigned)attrib >= CU_FUNC_ATTRIBUTE_MAX)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = function_need(hfunc, &function);

        if (r == CUDA_SUCCESS)
                *pi = function->attributes[attrib];
        return r;
}

CUresult sim_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
        struct function *function;
        CUresult r = function_need(hfunc, &function);

        if (r != CUDA_SUCCESS)
                return r;
        return function_set_attribute(function->attributes,
                                      device_gpu(function->module->context->device), attrib, value);
}

/* Hints about caches and banks: checked, without effect on the model. */
CUresult sim_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
        struct function *function;

        if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
                return CUDA_ERROR_INVALID_VALUE;
        return function_need(hfunc, &function);
}

CUresult sim_cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
        struct function *function;

        if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
                return CUDA_ERROR_INVALID_VALUE;
        return function_need(hfunc, &function);
}

CUresult sim_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
        struct function *function;

        if (!hmod)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = function_need(hfunc, &function);

        if (r == CUDA_SUCCESS)
                *hmod = (CUmodule)function->module;
        return r;
}

CUresult sim_cuFuncGetName(const char **name, CUfunction hfunc)
{
        struct function *function;

        if (!name)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = function_need(hfunc, &function);

        if (r == CUDA_SUCCESS)
                *name = function->name;
        return r;
}

CUresult sim_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                size_t *paramSize)
{
        struct function *function;

        if (!paramOffset)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = function_need(func, &function);

        if (r != CUDA_SUCCESS)
                return r;
        if (paramIndex >= function->parameter_count)
                return CUDA_ERROR_INVALID_VALUE;
        *paramOffset = function->parameters[paramIndex].offset;
        if (paramSize)
                *paramSize = function->parameters[paramIndex].size;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
        struct function *found;

        if (!state)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = function_need(function, &found);

        if (r == CUDA_SUCCESS)
                *state = found->is_loaded ? CU_FUNCTION_LOADING_STATE_LOADED
                                          : CU_FUNCTION_LOADING_STATE_UNLOADED;
        return r;
}

CUresult sim_cuFuncLoad(CUfunction function)
{
        struct function *found;
        CUresult r = function_need(function, &found);

        if (r == CUDA_SUCCESS)
                found->is_loaded = true;
        return r;
}
