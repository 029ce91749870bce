/* SPDX-License-Identifier: Apache-2.0 */
/* cuKernel*: what programs ask and set. */
#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "scope.h"
#include "sim_cuda.h"

/* The kernel's attributes on the device, as set or as they are by nature. */
static void settings_get(const struct kernel *kernel, const struct device *device,
                         _Atomic int ret_attributes[CU_FUNC_ATTRIBUTE_MAX])
{
        if (kernel->settings)
                memcpy(ret_attributes, kernel->settings[device->ordinal], sizeof *kernel->settings);
        else
                function_attributes(kernel->program, device_gpu(device), ret_attributes);
}

static CUresult settings_make(struct kernel *kernel)
{
        if (kernel->settings)
                return CUDA_SUCCESS;

        _Atomic int(*settings)[CU_FUNC_ATTRIBUTE_MAX] =
                calloc((size_t)driver.device_count, sizeof *settings);

        if (!settings)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (int i = 0; i < driver.device_count; i++)
                function_attributes(kernel->program, device_gpu(&driver.devices[i]), settings[i]);
        kernel->settings = settings;
        return CUDA_SUCCESS;
}

/* The kernel and the device of a call; dev is an ordinal. */
static CUresult find(CUkernel handle, CUdevice dev, struct kernel **ret_kernel,
                     struct device **ret_device)
{
        *ret_kernel = kernel_get(handle);
        *ret_device = driver_device(dev);
        if (!*ret_kernel)
                return CUDA_ERROR_INVALID_HANDLE;
        return *ret_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                  CUdevice dev)
{
        _Atomic int attributes[CU_FUNC_ATTRIBUTE_MAX];
        struct kernel *found;
        struct device *device;

        if (!pi || (unsigned)attrib >= CU_FUNC_ATTRIBUTE_MAX)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = find(kernel, dev, &found, &device);

        if (r != CUDA_SUCCESS)
                return r;

        autounlock pthread_mutex_t *held = scope_lock(&found->library->lock);

        settings_get(found, device, attributes);
        *pi = attributes[attrib];
        return CUDA_SUCCESS;
}

/* For all contexts on the device, those to come as well. */
CUresult sim_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                  CUdevice dev)
{
        struct kernel *found;
        struct device *device;
        CUresult r = find(kernel, dev, &found, &device);

        if (r != CUDA_SUCCESS)
                return r;

        struct library *library = found->library;
        autounlock pthread_mutex_t *held = scope_lock(&library->lock);

        r = settings_make(found);
        if (r == CUDA_SUCCESS)
                r = function_set_attribute(found->settings[device->ordinal], device_gpu(device),
                                           attrib, val);
        for (size_t i = 0; r == CUDA_SUCCESS && i < library->module_count; i++)
                if (library->modules[i]->context->device == device)
                        library->modules[i]->functions[found->index]->attributes[attrib] = val;
        return r;
}

CUresult sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
        struct kernel *found;
        struct device *device;

        if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
                return CUDA_ERROR_INVALID_VALUE;
        return find(kernel, dev, &found, &device);
}

CUresult sim_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
        struct kernel *found = kernel_get(kernel);
        struct function *function;

        if (!pFunc)
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;

        CUresult r = kernel_function(found, &function);

        if (r == CUDA_SUCCESS) {
                function->is_loaded = true;
                *pFunc = (CUfunction)function;
        }
        return r;
}

CUresult sim_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
        struct kernel *found = kernel_get(kernel);

        if (!pLib)
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;
        *pLib = (CUlibrary)found->library;
        return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetName(const char **name, CUkernel hfunc)
{
        struct kernel *found = kernel_get(hfunc);

        if (!name)
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;
        *name = found->program->name;
        return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                  size_t *paramSize)
{
        struct kernel *found = kernel_get(kernel);

        if (!paramOffset)
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;
        if (paramIndex >= found->program->parameter_count)
                return CUDA_ERROR_INVALID_VALUE;
        *paramOffset = found->program->parameters[paramIndex].offset;
        if (paramSize)
                *paramSize = found->program->parameters[paramIndex].size;
        return CUDA_SUCCESS;
}
