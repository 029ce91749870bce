/* SPDX-License-Identifier: Apache-2.0 */
/* Primary contexts: one per device, shared by all that retain it. */
#include "context_life.h"
#include "sim_cuda.h"

/* Guards activation and counts; taken before driver.lock. */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

static struct context *primary_locked(struct device *device)
{
        if (!device->primary) {
                device->primary = context_alloc(device, device->primary_flags);
                if (device->primary)
                        device->primary->is_primary = true;
        }
        return device->primary;
}

struct context *context_primary(struct device *device)
{
        pthread_mutex_lock(&primary_lock);
        struct context *context = primary_locked(device);
        pthread_mutex_unlock(&primary_lock);
        return context;
}

static CUresult retain_locked(struct device *device, struct context **ret_context)
{
        struct context *context = primary_locked(device);

        if (!context)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (!context->is_active) {
                context->flags = device->primary_flags;
                CUresult r = context_activate(context, context_bytes(device));
                if (r != CUDA_SUCCESS)
                        return r;
        }
        device->primary_references++;
        *ret_context = context;
        return CUDA_SUCCESS;
}

static CUresult primary_retain(struct device *device, struct context **ret_context)
{
        pthread_mutex_lock(&primary_lock);
        CUresult r = retain_locked(device, ret_context);
        pthread_mutex_unlock(&primary_lock);
        return r;
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);
        struct context *context;

        if (!handle)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        CUresult r = primary_retain(device, &context);
        if (r == CUDA_SUCCESS)
                *handle = (CUcontext)context;
        return r;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);
        CUresult r = CUDA_SUCCESS;

        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&primary_lock);
        if (!device->primary_references)
                r = CUDA_ERROR_INVALID_CONTEXT;
        else if (--device->primary_references == 0)
                context_end(device->primary);
        pthread_mutex_unlock(&primary_lock);
        return r;
}

CUresult sim_cuDevicePrimaryCtxRelease(CUdevice ordinal)
{
        return sim_cuDevicePrimaryCtxRelease_v2(ordinal);
}

/* Those who retained it keep their counts; the next use activates it afresh. */
CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
        struct device *device = driver_device(ordinal);

        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&primary_lock);
        if (device->primary)
                context_end(device->primary);
        device->primary_references = 0;
        pthread_mutex_unlock(&primary_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxReset(CUdevice ordinal)
{
        return sim_cuDevicePrimaryCtxReset_v2(ordinal);
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags)
{
        struct device *device = driver_device(ordinal);

        if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        pthread_mutex_lock(&primary_lock);
        device->primary_flags = flags;
        if (device->primary && device->primary->is_active)
                device->primary->flags = flags;
        pthread_mutex_unlock(&primary_lock);
        return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags)
{
        struct device *device = driver_device(ordinal);

        /* The first version refuses while the context is active. */
        if (device && device->primary && device->primary->is_active &&
            device->primary->flags != flags)
                return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
        return sim_cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active)
{
        struct device *device = driver_device(ordinal);

        if (!flags || !active)
                return CUDA_ERROR_INVALID_VALUE;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *flags = device->primary_flags;
        *active = device->primary && device->primary->is_active;
        return CUDA_SUCCESS;
}
