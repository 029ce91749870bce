/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries: loaded for all contexts at once, so that no launch takes memory unasked. */
#include "batch.h"
#include "image_need.h"
#include "ledger.h"
#include "library_charge.h"
#include "limits.h"
#include "variable_charge.h"
#include "work_name.h"

static CUresult variable_find(CUdeviceptr *address, size_t *bytes, const void *library,
                              const char *name)
{
        return real_cuda.cuLibraryGetManaged(address, bytes, (CUlibrary)(uintptr_t)library, name);
}

static CUresult load_end(CUresult result, CUlibrary *library, const void *image)
{
        if (result != CUDA_SUCCESS || !limits_are_set() || !ledger_is_open())
                return result;
        CUresult r = library_charge_load(*library, image_need(image));
        if (r == CUDA_SUCCESS && real_cuda.cuLibraryGetManaged)
                r = variable_charge_image(*library, image, variable_find, true);
        if (r != CUDA_SUCCESS)
                library_charge_unload(real_cuda.cuLibraryUnload, *library);
        return r;
}

CUresult hook_cuLibraryLoadData(cuLibraryLoadData_fn *real, CUlibrary *library, const void *code,
                                CUjit_option *jit_options, void **jit_values,
                                unsigned int jit_count, CUlibraryOption *options, void **values,
                                unsigned int count)
{
        return load_end(
                real(library, code, jit_options, jit_values, jit_count, options, values, count),
                library, code);
}

CUresult hook_cuLibraryLoadFromFile(cuLibraryLoadFromFile_fn *real, CUlibrary *library,
                                    const char *path, CUjit_option *jit_options, void **jit_values,
                                    unsigned int jit_count, CUlibraryOption *options, void **values,
                                    unsigned int count)
{
        return load_end(
                real(library, path, jit_options, jit_values, jit_count, options, values, count),
                library, NULL);
}

CUresult hook_cuLibraryUnload(cuLibraryUnload_fn *real, CUlibrary library)
{
        batch_wait_begins();
        const CUresult r = limits_are_set() ? library_charge_unload(real, library) : real(library);
        batch_wait_ends();
        return r;
}

CUresult hook_cuLibraryGetManaged(cuLibraryGetManaged_fn *real, CUdeviceptr *address, size_t *bytes,
                                  CUlibrary library, const char *name)
{
        CUresult r = real(address, bytes, library, name);
        CUdeviceptr at;
        size_t size;

        if (r != CUDA_SUCCESS || !limits_are_set() ||
            real(&at, &size, library, name) != CUDA_SUCCESS)
                return r;
        return variable_charge_note(library, at, size, true);
}

/* A kernel may be launched by its own handle and by that of its function. */
CUresult hook_cuLibraryGetKernel(cuLibraryGetKernel_fn *real, CUkernel *kernel, CUlibrary library,
                                 const char *name)
{
        const CUresult r = real(kernel, library, name);

        if (r == CUDA_SUCCESS && kernel)
                work_name_note(*kernel, name);
        return r;
}

CUresult hook_cuKernelGetFunction(cuKernelGetFunction_fn *real, CUfunction *function,
                                  CUkernel kernel)
{
        const CUresult r = real(function, kernel);

        if (r == CUDA_SUCCESS && function)
                work_name_copy(*function, kernel);
        return r;
}
