/* SPDX-License-Identifier: Apache-2.0 */
/* The first launch interface: block shape and arguments are set on the function beforehand. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "function_handle.h"
#include "launch.h"
#include "scope.h"
#include "sim_cuda.h"

enum { PARAM_TEXTURE_DEFAULT = -1 };

struct legacy {
        struct function *function;
        unsigned block[3];
        unsigned shared_bytes;
        size_t size;
        unsigned char params[LAUNCH_PARAMS_INLINE];
        struct legacy *next;
};

static struct {
        pthread_mutex_t lock;
        struct legacy *first;
} launch_legacy = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The function's settings; the caller holds the lock. */
static CUresult legacy_find(CUfunction handle, struct legacy **ret_legacy)
{
        struct function *function = function_get(handle);
        struct legacy *legacy;
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!function)
                return CUDA_ERROR_INVALID_HANDLE;
        for (legacy = launch_legacy.first; legacy; legacy = legacy->next) {
                if (legacy->function == function)
                        break;
        }
        if (!legacy) {
                legacy = calloc(1, sizeof *legacy);
                if (!legacy)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                *legacy = (struct legacy){ .function = function,
                                           .block = { 1, 1, 1 },
                                           .next = launch_legacy.first };
                launch_legacy.first = legacy;
        }
        *ret_legacy = legacy;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
        autounlock pthread_mutex_t *held = scope_lock(&launch_legacy.lock);
        struct legacy *legacy;
        CUresult r = legacy_find(hfunc, &legacy);

        if (r != CUDA_SUCCESS)
                return r;
        if (x <= 0 || y <= 0 || z <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        legacy->block[0] = (unsigned)x;
        legacy->block[1] = (unsigned)y;
        legacy->block[2] = (unsigned)z;
        return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
        autounlock pthread_mutex_t *held = scope_lock(&launch_legacy.lock);
        struct legacy *legacy;
        CUresult r = legacy_find(hfunc, &legacy);

        if (r == CUDA_SUCCESS)
                legacy->shared_bytes = bytes;
        return r;
}

CUresult sim_cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
        autounlock pthread_mutex_t *held = scope_lock(&launch_legacy.lock);
        struct legacy *legacy;
        CUresult r = legacy_find(hfunc, &legacy);

        if (r == CUDA_SUCCESS && numbytes > sizeof legacy->params)
                r = CUDA_ERROR_INVALID_VALUE;
        if (r == CUDA_SUCCESS)
                legacy->size = numbytes;
        return r;
}

CUresult sim_cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
        autounlock pthread_mutex_t *held = scope_lock(&launch_legacy.lock);
        struct legacy *legacy;
        CUresult r = legacy_find(hfunc, &legacy);

        if (r != CUDA_SUCCESS)
                return r;
        if (offset < 0 || !ptr || (size_t)offset + numbytes > sizeof legacy->params)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(legacy->params + offset, ptr, numbytes);
        if (legacy->size < (size_t)offset + numbytes)
                legacy->size = (size_t)offset + numbytes;
        return CUDA_SUCCESS;
}

CUresult sim_cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
        return sim_cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult sim_cuParamSetf(CUfunction hfunc, int offset, float value)
{
        return sim_cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult sim_cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef)
{
        /* Kernels find a reference by its name: nothing is left to be set. */
        if (!function_get(hfunc))
                return CUDA_ERROR_INVALID_HANDLE;
        return texunit == PARAM_TEXTURE_DEFAULT && hTexRef ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
        struct legacy *legacy, copy;
        CUresult r;

        if (grid_width <= 0 || grid_height <= 0)
                return CUDA_ERROR_INVALID_VALUE;
        pthread_mutex_lock(&launch_legacy.lock);
        r = legacy_find(f, &legacy);
        if (r == CUDA_SUCCESS)
                copy = *legacy;
        pthread_mutex_unlock(&launch_legacy.lock);
        if (r != CUDA_SUCCESS)
                return r;

        void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, copy.params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                          &copy.size, CU_LAUNCH_PARAM_END };
        return sim_cuLaunchKernel(f, (unsigned)grid_width, (unsigned)grid_height, 1, copy.block[0],
                                  copy.block[1], copy.block[2], copy.shared_bytes, hStream, NULL,
                                  copy.size ? extra : NULL);
}

CUresult sim_cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
        return sim_cuLaunchGridAsync(f, grid_width, grid_height, NULL);
}

CUresult sim_cuLaunch(CUfunction f)
{
        return sim_cuLaunchGridAsync(f, 1, 1, NULL);
}
