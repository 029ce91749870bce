/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: code and variables are device memory too. */
#include "batch.h"
#include "image_need.h"
#include "limits.h"
#include "measured.h"
#include "real.h"
#include "variable_charge.h"
#include "work_name.h"

static CUresult unload(const void *module)
{
        return real_cuda.cuModuleUnload((CUmodule)(uintptr_t)module);
}

static CUresult begin(struct measure *measure, const void *image, struct target *ret_target)
{
        return measured_begin_object(measure, limits_are_set() ? image_need(image) : 0,
                                     HOLDING_MODULE, ret_target);
}

static CUresult variable_find(CUdeviceptr *address, size_t *bytes, const void *module,
                              const char *name)
{
        return real_cuda.cuModuleGetGlobal_v2(address, bytes, (CUmodule)(uintptr_t)module, name);
}

/* Its managed variables come after it: what does not fit takes the module along. */
static CUresult end(struct measure *measure, const struct target *target, CUresult result,
                    const CUmodule *module, const void *image)
{
        CUresult r = measured_end(measure, target, result, result == CUDA_SUCCESS ? *module : NULL,
                                  HOLDING_MODULE, unload);

        if (r != CUDA_SUCCESS)
                return r;
        r = variable_charge_image(*module, image, variable_find, false);
        if (r != CUDA_SUCCESS)
                hook_cuModuleUnload(real_cuda.cuModuleUnload, *module);
        return r;
}

CUresult hook_cuModuleLoad(cuModuleLoad_fn *real, CUmodule *module, const char *path)
{
        struct measure measure;
        struct target target;
        CUresult r = measured_begin(&measure, 0, &target);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(module, path);
        return measured_end(&measure, &target, r, r == CUDA_SUCCESS ? *module : NULL,
                            HOLDING_MODULE, unload);
}

CUresult hook_cuModuleLoadData(cuModuleLoadData_fn *real, CUmodule *module, const void *image)
{
        struct measure measure;
        struct target target;
        CUresult r = begin(&measure, image, &target);

        if (r != CUDA_SUCCESS)
                return r;
        return end(&measure, &target, real(module, image), module, image);
}

CUresult hook_cuModuleLoadDataEx(cuModuleLoadDataEx_fn *real, CUmodule *module, const void *image,
                                 unsigned int count, CUjit_option *options, void **values)
{
        struct measure measure;
        struct target target;
        CUresult r = begin(&measure, image, &target);

        if (r != CUDA_SUCCESS)
                return r;
        return end(&measure, &target, real(module, image, count, options, values), module, image);
}

CUresult hook_cuModuleLoadFatBinary(cuModuleLoadFatBinary_fn *real, CUmodule *module,
                                    const void *image)
{
        struct measure measure;
        struct target target;
        CUresult r = begin(&measure, image, &target);

        if (r != CUDA_SUCCESS)
                return r;
        return end(&measure, &target, real(module, image), module, image);
}

CUresult hook_cuModuleUnload(cuModuleUnload_fn *real, CUmodule module)
{
        struct measured_gift gift;

        batch_wait_begins();
        measured_give_begin(&gift, module);
        CUresult r = measured_give_end(&gift, real(module));
        batch_wait_ends();
        if (r == CUDA_SUCCESS)
                variable_charge_end(module);
        return r;
}

/* Whoever asks for a managed variable is about to use it; not every image can be read before. */
CUresult hook_cuModuleGetGlobal_v2(cuModuleGetGlobal_v2_fn *real, CUdeviceptr *address,
                                   size_t *bytes, CUmodule module, const char *name)
{
        CUresult r = real(address, bytes, module, name);
        CUdeviceptr at;
        size_t size;

        if (r != CUDA_SUCCESS || !limits_are_set() ||
            real_cuda.cuModuleGetGlobal_v2(&at, &size, module, name) != CUDA_SUCCESS)
                return r;
        return variable_charge_note(module, at, size, false);
}

CUresult hook_cuModuleGetFunction(cuModuleGetFunction_fn *real, CUfunction *function,
                                  CUmodule module, const char *name)
{
        const CUresult r = real(function, module, name);

        if (r == CUDA_SUCCESS && function)
                work_name_note(*function, name);
        return r;
}
