/* SPDX-License-Identifier: Apache-2.0 */
/* cuLibrary*: load, find kernels and variables, unload. */
#include "library.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "jit.h"
#include "program_managed.h"
#include "scope.h"
#include "sim_cuda.h"
#include "work.h"

static struct {
        pthread_mutex_t lock;
        struct library *pool;
} libraries = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* NULL: `handle` is no living library. */
static struct library *library_get(CUlibrary handle)
{
        struct library *library = (struct library *)handle;

        if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct library) != 0)
                return NULL;
        return library->magic == LIBRARY_MAGIC ? library : NULL;
}

static struct library *pool_take(void)
{
        autounlock pthread_mutex_t *held = scope_lock(&libraries.lock);
        struct library *library = libraries.pool;

        if (library)
                libraries.pool = library->next;
        return library;
}

/* Everything but the modules, which the caller has freed. */
static void library_free(struct library *library)
{
        if (!library)
                return;
        library->magic = 0;
        for (size_t i = 0; library->kernels && i < library->program->kernel_count; i++)
                kernel_free(library->kernels[i]);
        free(library->kernels);
        free(library->modules);
        program_unref(library->program);
        pthread_mutex_destroy(&library->lock);

        autounlock pthread_mutex_t *held = scope_lock(&libraries.lock);

        *library = (struct library){ .next = libraries.pool };
        libraries.pool = library;
}

/* Takes over the caller's reference to the program. */
static struct library *library_new(struct program *program)
{
        struct library *library = pool_take();

        if (!library)
                library = calloc(1, sizeof *library);
        if (!library) {
                program_unref(program);
                return NULL;
        }
        *library = (struct library){ .program = program };
        pthread_mutex_init(&library->lock, NULL);
        library->kernels = calloc(program->kernel_count + 1, sizeof *library->kernels);
        for (size_t i = 0; library->kernels && i < program->kernel_count; i++) {
                library->kernels[i] = kernel_new(library, &program->kernels[i], i);
                if (!library->kernels[i])
                        break;
        }
        if (!library->kernels ||
            (program->kernel_count > 0 && !library->kernels[program->kernel_count - 1])) {
                library_free(library);
                return NULL;
        }
        library->magic = LIBRARY_MAGIC;
        return library;
}

static void settings_apply(const struct library *library, struct module *module)
{
        int ordinal = module->context->device->ordinal;

        for (size_t i = 0; i < library->program->kernel_count; i++)
                if (library->kernels[i]->settings)
                        memcpy(module->functions[i]->attributes,
                               library->kernels[i]->settings[ordinal],
                               sizeof module->functions[i]->attributes);
}

static CUresult module_make(struct library *library, struct context *context,
                            struct module **ret_module)
{
        struct module **modules =
                realloc(library->modules, (library->module_count + 1) * sizeof *library->modules);
        CUresult r;

        if (!modules)
                return CUDA_ERROR_OUT_OF_MEMORY;
        library->modules = modules;
        r = module_new(context, library->program, library, NULL, ret_module);
        if (r != CUDA_SUCCESS)
                return r;
        settings_apply(library, *ret_module);
        library->modules[library->module_count++] = *ret_module;
        return CUDA_SUCCESS;
}

/* The module on the context, made on first use. */
static CUresult library_module(struct library *library, struct context *context,
                               struct module **ret_module)
{
        autounlock pthread_mutex_t *held = scope_lock(&library->lock);

        for (size_t i = 0; i < library->module_count; i++) {
                if (library->modules[i]->context == context) {
                        *ret_module = library->modules[i];
                        return CUDA_SUCCESS;
                }
        }
        return module_make(library, context, ret_module);
}

static void library_forget(struct library *library, const struct module *module)
{
        autounlock pthread_mutex_t *held = scope_lock(&library->lock);

        for (size_t i = 0; i < library->module_count; i++)
                if (library->modules[i] == module)
                        library->modules[i--] = library->modules[--library->module_count];
}

void library_context_done(const struct context *context)
{
        for (const struct module *module = context->modules; module; module = module->next)
                if (module->library)
                        library_forget(module->library, module);
}

static CUresult load(CUlibrary *ret_library, const void *image, size_t bytes, struct jit *jit)
{
        uint64_t start_ns = clock_now_ns();
        struct program *program;
        struct library *library;
        struct err e = { 0 };

        if (driver.device_count == 0)
                return CUDA_ERROR_NO_DEVICE;

        CUresult r = program_new(image, bytes, device_gpu(&driver.devices[0]), &program, &e);

        if (r != CUDA_SUCCESS)
                jit_complain(jit, "%s\n", e.text);
        jit_done(jit, clock_now_ns() - start_ns);
        if (r != CUDA_SUCCESS)
                return r;
        library = library_new(program);
        if (!library)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *ret_library = (CUlibrary)library;
        return CUDA_SUCCESS;
}

CUresult kernel_function(struct kernel *kernel, struct function **ret_function)
{
        struct context *context;
        struct module *module;
        CUresult r = context_need(&context);

        if (r == CUDA_SUCCESS)
                r = library_module(kernel->library, context, &module);
        if (r == CUDA_SUCCESS)
                *ret_function = module->functions[kernel->index];
        return r;
}

/* Options say how long the image stays and what host code it shares: neither matters here. */
static CUresult options_check(const CUlibraryOption *options, unsigned count)
{
        for (unsigned i = 0; options && i < count; i++)
                if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
                        return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

CUresult sim_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption *libraryOptions, void **libraryOptionValues,
                               unsigned int numLibraryOptions)
{
        struct jit jit;

        (void)libraryOptionValues;
        if (!library || !code)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = options_check(libraryOptions, numLibraryOptions);

        if (r == CUDA_SUCCESS)
                r = jit_init(&jit, numJitOptions, jitOptions, jitOptionsValues);
        return r == CUDA_SUCCESS ? load(library, code, 0, &jit) : r;
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                   CUjit_option *jitOptions, void **jitOptionsValues,
                                   unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                   void **libraryOptionValues, unsigned int numLibraryOptions)
{
        autofree char *image = NULL;
        struct jit jit;
        size_t bytes;

        (void)libraryOptionValues;
        if (!library || !fileName)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = options_check(libraryOptions, numLibraryOptions);

        if (r == CUDA_SUCCESS)
                r = jit_init(&jit, numJitOptions, jitOptions, jitOptionsValues);
        if (r == CUDA_SUCCESS)
                r = program_read(fileName, &image, &bytes);
        return r == CUDA_SUCCESS ? load(library, image, bytes, &jit) : r;
}

CUresult sim_cuLibraryUnload(CUlibrary library)
{
        struct library *found = library_get(library);

        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;
        for (size_t i = 0; i < found->module_count; i++)
                context_wait(found->modules[i]->context);
        while (found->module_count > 0) {
                struct module *module = found->modules[found->module_count - 1];

                library_forget(found, module);
                module_free(module);
        }
        library_free(found);
        return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
        struct library *found = library_get(library);

        if (!pKernel || !name)
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;

        const struct program_kernel *kernel = program_kernel(found->program, name);

        if (!kernel)
                return CUDA_ERROR_NOT_FOUND;
        *pKernel = (CUkernel)found->kernels[kernel - found->program->kernels];
        return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
        struct library *found = library_get(lib);

        if (!count)
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;
        *count = (unsigned)found->program->kernel_count;
        return CUDA_SUCCESS;
}

CUresult sim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
        struct library *found = library_get(lib);

        if (!kernels || numKernels == 0)
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;
        for (size_t i = 0; i < numKernels && i < found->program->kernel_count; i++)
                kernels[i] = (CUkernel)found->kernels[i];
        return CUDA_SUCCESS;
}

/* The library's module on the current context. */
static CUresult current_module(CUlibrary handle, struct module **ret_module)
{
        struct library *library = library_get(handle);
        struct context *context;

        if (!library)
                return CUDA_ERROR_INVALID_HANDLE;

        CUresult r = context_need(&context);

        return r == CUDA_SUCCESS ? library_module(library, context, ret_module) : r;
}

CUresult sim_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
        struct module *module;

        if (!pMod)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = current_module(library, &module);

        if (r == CUDA_SUCCESS)
                *pMod = (CUmodule)module;
        return r;
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                const char *name)
{
        struct module *module;

        if (!name || (!dptr && !bytes))
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = current_module(library, &module);

        if (r != CUDA_SUCCESS)
                return r;

        const struct program_variable *found = program_variable(module->program, name);

        if (!found || found->is_managed)
                return CUDA_ERROR_NOT_FOUND;
        return module_variable(module, name, dptr, bytes);
}

CUresult sim_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                 const char *name)
{
        struct library *found = library_get(library);
        CUdeviceptr address;

        if (!name || (!dptr && !bytes))
                return CUDA_ERROR_INVALID_VALUE;
        if (!found)
                return CUDA_ERROR_INVALID_HANDLE;

        const struct program_variable *variable = program_variable(found->program, name);

        if (!variable || !variable->is_managed)
                return CUDA_ERROR_NOT_FOUND;

        CUresult r = program_managed(found->program, (size_t)(variable - found->program->variables),
                                     NULL, &address);

        if (r != CUDA_SUCCESS)
                return r;
        if (dptr)
                *dptr = address;
        if (bytes)
                *bytes = variable->bytes;
        return CUDA_SUCCESS;
}

/* Functions that host and device share need host code in the image, which nvcc does not make. */
CUresult sim_cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
        if (!fptr || !symbol)
                return CUDA_ERROR_INVALID_VALUE;
        return library_get(library) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}
