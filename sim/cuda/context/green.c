/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: a part of a device's SMs, beside its primary context. */
#include <stdlib.h>
#include <string.h>

#include "context_life.h"
#include "sim_cuda.h"

enum { RESOURCE_SM = 1, SM_STEP = 2, GREEN_DEFAULT_STREAM = 1 };

struct description {
        struct device *device; /* NULL: not known before it is used */
        unsigned sm_count;
};

static void resource_fill(CUdevResource *resource, unsigned sm_count)
{
        memset(resource, 0, sizeof *resource);
        resource->type = RESOURCE_SM;
        resource->sm.smCount = sm_count;
}

CUresult sim_cuDeviceGetDevResource(CUdevice ordinal, CUdevResource *resource,
                                    CUdevResourceType type)
{
        struct device *device = driver_device(ordinal);

        if (!resource)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        if ((int)type != RESOURCE_SM)
                return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        resource_fill(resource, device_unit(device)->sm_count);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevResource(CUcontext handle, CUdevResource *resource, CUdevResourceType type)
{
        struct context *context = handle ? context_get(handle) : context_current();

        if (!resource)
                return CUDA_ERROR_INVALID_VALUE;
        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        if ((int)type != RESOURCE_SM)
                return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        resource_fill(resource, context->sm_count);
        return CUDA_SUCCESS;
}

CUresult sim_cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *resource,
                                      CUdevResourceType type)
{
        return handle ? sim_cuCtxGetDevResource((CUcontext)handle, resource, type)
                      : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned *groups,
                                         const CUdevResource *input, CUdevResource *remaining,
                                         unsigned flags, unsigned minimum)
{
        (void)flags;
        if (!groups || !input || input->type != RESOURCE_SM)
                return CUDA_ERROR_INVALID_VALUE;
        unsigned size = minimum < SM_STEP ? SM_STEP : (minimum + SM_STEP - 1) / SM_STEP * SM_STEP;
        unsigned possible = input->sm.smCount / size;
        if (result && *groups > possible)
                *groups = possible;
        if (!result)
                *groups = possible;
        if (!possible)
                return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        for (unsigned i = 0; result && i < *groups; i++)
                resource_fill(&result[i], size);
        if (remaining)
                resource_fill(remaining, input->sm.smCount - size * (result ? *groups : possible));
        return CUDA_SUCCESS;
}

CUresult sim_cuDevResourceGenerateDesc(CUdevResourceDesc *handle, CUdevResource *resources,
                                       unsigned count)
{
        if (!handle || !resources || !count)
                return CUDA_ERROR_INVALID_VALUE;
        struct description *description = calloc(1, sizeof *description);
        if (!description)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (unsigned i = 0; i < count; i++) {
                if (resources[i].type != RESOURCE_SM) {
                        free(description);
                        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
                }
                description->sm_count += resources[i].sm.smCount;
        }
        *handle = (CUdevResourceDesc)description;
        return CUDA_SUCCESS;
}

CUresult sim_cuGreenCtxCreate(CUgreenCtx *handle, CUdevResourceDesc desc, CUdevice ordinal,
                              unsigned flags)
{
        const struct description *description = (const struct description *)desc;
        struct device *device = driver_device(ordinal);

        if (!handle || !description || flags != GREEN_DEFAULT_STREAM)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        if (description->sm_count > device_unit(device)->sm_count)
                return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        struct context *context = context_alloc(device, 0);
        if (!context)
                return CUDA_ERROR_OUT_OF_MEMORY;
        context->is_green = true;
        context->sm_count = description->sm_count;
        CUresult r = context_activate(context, MACHINE_GRANULE_BYTES);
        if (r == CUDA_SUCCESS)
                *handle = (CUgreenCtx)context;
        return r;
}

static struct context *green_get(CUgreenCtx handle)
{
        struct context *context = context_get((CUcontext)handle);

        return context && context->is_green ? context : NULL;
}

CUresult sim_cuGreenCtxDestroy(CUgreenCtx handle)
{
        struct context *context = green_get(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        context_end(context);
        return CUDA_SUCCESS;
}

CUresult sim_cuCtxFromGreenCtx(CUcontext *handle, CUgreenCtx green)
{
        if (!handle)
                return CUDA_ERROR_INVALID_VALUE;
        if (!green_get(green))
                return CUDA_ERROR_INVALID_CONTEXT;
        *handle = (CUcontext)green;
        return CUDA_SUCCESS;
}

CUresult sim_cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *number)
{
        return green_get(handle) ? sim_cuCtxGetId((CUcontext)handle, number)
                                 : CUDA_ERROR_INVALID_CONTEXT;
}
