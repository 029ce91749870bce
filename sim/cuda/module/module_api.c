/* SPDX-License-Identifier: Apache-2.0 */
/* cuModule*: load, look up, unload. */
#include "jit.h"
#include "module.h"
#include "program.h"
#include "scope.h"
#include "sim_cuda.h"

static CUresult load(CUmodule *ret_module, const void *image, size_t bytes, struct jit *jit)
{
        struct context *context;
        struct module *module;

        if (!ret_module || !image)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = context_need(&context);

        if (r == CUDA_SUCCESS)
                r = module_load(context, image, bytes, jit, &module);
        if (r == CUDA_SUCCESS)
                *ret_module = (CUmodule)module;
        return r;
}

CUresult sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                CUjit_option *options, void **optionValues)
{
        struct jit jit;
        CUresult r = jit_init(&jit, numOptions, options, optionValues);

        return r == CUDA_SUCCESS ? load(module, image, 0, &jit) : r;
}

CUresult sim_cuModuleLoadData(CUmodule *module, const void *image)
{
        return sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
        return sim_cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult sim_cuModuleLoad(CUmodule *module, const char *fname)
{
        autofree char *image = NULL;
        struct jit jit = { 0 };
        size_t bytes;

        if (!module || !fname)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = program_read(fname, &image, &bytes);

        return r == CUDA_SUCCESS ? load(module, image, bytes, &jit) : r;
}

/* A library's module goes with its library. */
CUresult sim_cuModuleUnload(CUmodule hmod)
{
        struct module *module = module_get(hmod);

        if (!module)
                return CUDA_ERROR_INVALID_HANDLE;
        if (module->library)
                return CUDA_ERROR_NOT_PERMITTED;
        module_free(module);
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
        struct module *module = module_get(hmod);
        struct function *function;

        if (!hfunc || !name)
                return CUDA_ERROR_INVALID_VALUE;
        if (!module)
                return CUDA_ERROR_INVALID_HANDLE;
        function = module_find(module, name);
        if (!function)
                return CUDA_ERROR_NOT_FOUND;
        function->is_loaded = true;
        *hfunc = (CUfunction)function;
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
        struct module *module = module_get(mod);

        if (!count)
                return CUDA_ERROR_INVALID_VALUE;
        if (!module)
                return CUDA_ERROR_INVALID_HANDLE;
        *count = (unsigned)module->program->kernel_count;
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                        CUmodule mod)
{
        struct module *module = module_get(mod);

        if (!functions || numFunctions == 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (!module)
                return CUDA_ERROR_INVALID_HANDLE;
        for (size_t i = 0; i < numFunctions && i < module->program->kernel_count; i++)
                functions[i] = (CUfunction)module->functions[i];
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
        struct module *module = module_get(hmod);

        if (!name || (!dptr && !bytes))
                return CUDA_ERROR_INVALID_VALUE;
        return module ? module_variable(module, name, dptr, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

/* The first API had addresses of 32 bits: a variable above them cannot be told. */
CUresult sim_cuModuleGetGlobal(CUdeviceptr_v1 *dptr, unsigned int *bytes, CUmodule hmod,
                               const char *name)
{
        CUdeviceptr address;
        size_t size;

        if (!name || (!dptr && !bytes))
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = sim_cuModuleGetGlobal_v2(&address, &size, hmod, name);

        if (r != CUDA_SUCCESS)
                return r;
        if (address > UINT32_MAX || size > UINT32_MAX)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (dptr)
                *dptr = (CUdeviceptr_v1)address;
        if (bytes)
                *bytes = (unsigned)size;
        return CUDA_SUCCESS;
}

static CUresult reference(void **ret_reference, CUmodule handle, const char *name, bool is_surface)
{
        struct module *module = module_get(handle);

        if (!ret_reference || !name)
                return CUDA_ERROR_INVALID_VALUE;
        if (!module)
                return CUDA_ERROR_INVALID_HANDLE;

        struct texture *found = module_reference(module, name, is_surface);

        if (!found)
                return CUDA_ERROR_NOT_FOUND;
        *ret_reference = found;
        return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name)
{
        return reference((void **)pTexRef, hmod, name, false);
}

CUresult sim_cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name)
{
        return reference((void **)pSurfRef, hmod, name, true);
}
