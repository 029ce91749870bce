/* Modules: code and variables are device memory too. */
#include "image_need.h"
#include "limits.h"
#include "measured.h"
#include "real.h"

static CUresult unload(const void *module)
{
        return real_cuda.cuModuleUnload((CUmodule)(uintptr_t)module);
}

static CUresult begin(struct measure *measure, const void *image, struct place *ret_place)
{
        return measured_begin_object(measure, limits_are_set() ? image_need(image) : 0,
                                     HOLDING_MODULE, ret_place);
}

CUresult hook_cuModuleLoad(cuModuleLoad_fn *real, CUmodule *module, const char *path)
{
        struct measure measure;
        struct place place;
        CUresult r = measured_begin(&measure, 0, &place);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(module, path);
        return measured_end(&measure, &place, r, r == CUDA_SUCCESS ? *module : NULL, HOLDING_MODULE,
                            unload);
}

CUresult hook_cuModuleLoadData(cuModuleLoadData_fn *real, CUmodule *module, const void *image)
{
        struct measure measure;
        struct place place;
        CUresult r = begin(&measure, image, &place);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(module, image);
        return measured_end(&measure, &place, r, r == CUDA_SUCCESS ? *module : NULL, HOLDING_MODULE,
                            unload);
}

CUresult hook_cuModuleLoadDataEx(cuModuleLoadDataEx_fn *real, CUmodule *module, const void *image,
                                 unsigned int count, CUjit_option *options, void **values)
{
        struct measure measure;
        struct place place;
        CUresult r = begin(&measure, image, &place);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(module, image, count, options, values);
        return measured_end(&measure, &place, r, r == CUDA_SUCCESS ? *module : NULL, HOLDING_MODULE,
                            unload);
}

CUresult hook_cuModuleLoadFatBinary(cuModuleLoadFatBinary_fn *real, CUmodule *module,
                                    const void *image)
{
        struct measure measure;
        struct place place;
        CUresult r = begin(&measure, image, &place);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(module, image);
        return measured_end(&measure, &place, r, r == CUDA_SUCCESS ? *module : NULL, HOLDING_MODULE,
                            unload);
}

CUresult hook_cuModuleUnload(cuModuleUnload_fn *real, CUmodule module)
{
        struct measured_gift gift;

        measured_give_begin(&gift, module);
        return measured_give_end(&gift, real(module));
}
