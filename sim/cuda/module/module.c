/* SPDX-License-Identifier: Apache-2.0 */
/* Modules as objects: a program placed in the memory of a context. */
#include "module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "memory.h"
#include "program.h"
#include "program_managed.h"
#include "program_source.h"
#include "ptx.h"
#include "scope.h"
#include "texture.h"
#include "work.h"

enum { VARIABLE_ALIGN_BYTES = 256 }; /* alignment of every variable on the GPU */

static struct {
        pthread_mutex_t lock;
        struct module *pool;
} modules = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct module *module_get(CUmodule handle)
{
        struct module *module = (struct module *)handle;

        if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct module) != 0)
                return NULL;
        return module->magic == MODULE_MAGIC ? module : NULL;
}

static struct module *pool_take(void)
{
        autounlock pthread_mutex_t *held = scope_lock(&modules.lock);
        struct module *module = modules.pool;

        if (module)
                modules.pool = module->next;
        return module;
}

static uint64_t offset_take(uint64_t *end, const struct program_variable *variable)
{
        uint64_t unit =
                variable->align > VARIABLE_ALIGN_BYTES ? variable->align : VARIABLE_ALIGN_BYTES;
        uint64_t offset = (*end + unit - 1) / unit * unit;

        *end = offset + variable->bytes;
        return offset;
}

/* Where the caller of cuModuleLoadDataEx says an undefined variable is, or 0. */
static CUdeviceptr symbol_address(const struct jit *jit, const char *name)
{
        for (unsigned i = 0; jit && i < jit->symbol_count; i++)
                if (jit->symbol_names[i] && strcmp(jit->symbol_names[i], name) == 0)
                        return (CUdeviceptr)(uintptr_t)jit->symbol_addresses[i];
        return 0;
}

static CUresult variable_place(struct module *module, size_t index, uint64_t *end,
                               const struct jit *jit)
{
        const struct program_variable *variable = &module->program->variables[index];
        struct module_variable *ours = &module->variables[index];

        if (variable->is_reference) {
                ours->reference = texture_new(variable->is_surface, true);
                if (!ours->reference)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                ours->reference->format = CU_AD_FORMAT_FLOAT;
                ours->reference->channels = 1;
                ours->address = ours->reference->handle; /* what the kernel reads through */
                return CUDA_SUCCESS;
        }
        if (variable->is_undefined) {
                ours->address = symbol_address(jit, variable->name);
                return ours->address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
        }
        if (variable->is_managed && variable->bytes > 0) {
                ours->is_managed = true;
                return program_managed(module->program, index, module->ptx, &ours->address);
        }
        ours->address = offset_take(end, variable);
        return CUDA_SUCCESS;
}

/* One block on the GPU: the code, then the variables, so that no variable is the start of an
 * allocation that cuMemFree would take. */
static CUresult variables_place(struct module *module, const struct jit *jit)
{
        const struct program *program = module->program;
        uint64_t end = program->code_bytes ? program->code_bytes : 1;
        CUresult r = CUDA_SUCCESS;

        module->variables = calloc(program->variable_count + 1, sizeof *module->variables);
        if (!module->variables)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; r == CUDA_SUCCESS && i < program->variable_count; i++)
                r = variable_place(module, i, &end, jit);
        if (r == CUDA_SUCCESS)
                r = memory_alloc(module->context, end, MEMORY_DEVICE, &module->block);
        if (r != CUDA_SUCCESS)
                return r;
        for (size_t i = 0; i < program->variable_count; i++) {
                const struct program_variable *variable = &program->variables[i];

                if (!variable->is_reference && !variable->is_undefined &&
                    !module->variables[i].is_managed)
                        module->variables[i].address += module->block;
        }
        return CUDA_SUCCESS;
}

static void variable_fill(const struct module *module, size_t index)
{
        const struct program_variable *variable = &module->program->variables[index];
        uint64_t low, high;
        void *bytes;

        if (variable->is_reference || variable->is_undefined || variable->bytes == 0 ||
            module->variables[index].is_managed)
                return;
        bytes = memory_resolve(module->context, module->variables[index].address, variable->bytes,
                               true, &low, &high);
        if (!bytes)
                return;
        if (variable->has_ptx && ptx_module_has_initial(module->ptx, variable->ptx_index))
                ptx_module_write_initial(module->ptx, variable->ptx_index, bytes);
        else if (variable->initial)
                memcpy(bytes, variable->initial, variable->bytes);
        else
                memset(bytes, 0, variable->bytes);
}

/* Initial values may hold addresses of other variables: all are placed before the first is filled. */
static void variables_fill(struct module *module)
{
        const struct program *program = module->program;

        for (size_t i = 0; i < program->variable_count; i++)
                if (program->variables[i].has_ptx)
                        ptx_module_set_address(module->ptx, program->variables[i].ptx_index,
                                               module->variables[i].address);
        for (size_t i = 0; i < program->variable_count; i++)
                variable_fill(module, i);
}

static CUresult functions_make(struct module *module)
{
        const struct program *program = module->program;
        const struct machine_gpu *gpu = device_gpu(module->context->device);

        module->functions = calloc(program->kernel_count + 1, sizeof *module->functions);
        if (!module->functions)
                return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t i = 0; i < program->kernel_count; i++) {
                const struct program_kernel *kernel = &program->kernels[i];
                const struct ptx_kernel *ptx =
                        kernel->has_ptx ? ptx_kernel_find(module->ptx, kernel->name) : NULL;

                module->functions[i] = function_new(module, gpu, kernel, ptx);
                if (!module->functions[i])
                        return CUDA_ERROR_OUT_OF_MEMORY;
        }
        return CUDA_SUCCESS;
}

static void block_free(const struct module *module, CUdeviceptr address)
{
        const struct allocation *allocation = address ? memory_find(address) : NULL;

        if (allocation && allocation->base == address && allocation->context == module->context)
                memory_free(address);
}

/* The program may have destroyed it as one of its own. */
static void reference_free(const struct module_variable *variable)
{
        if (variable->reference && texture_at(variable->address) == variable->reference)
                texture_free(variable->reference);
}

/* Gives back everything but its entry in the context's list. */
static void module_release(struct module *module)
{
        const struct program *program = module->program;

        module->magic = 0;
        for (size_t i = 0; module->functions && i < program->kernel_count; i++)
                function_free(module->functions[i]);
        for (size_t i = 0; module->variables && i < program->variable_count; i++)
                reference_free(&module->variables[i]);
        block_free(module, module->block);
        free(module->functions);
        free(module->variables);
        program_give_ptx(module->program, module->ptx);
        program_unref(module->program);

        autounlock pthread_mutex_t *held = scope_lock(&modules.lock);

        *module = (struct module){ .next = modules.pool };
        modules.pool = module;
}

CUresult module_new(struct context *context, struct program *program, struct library *library,
                    const struct jit *jit, struct module **ret_module)
{
        struct module *module = pool_take();

        if (!module)
                module = malloc(sizeof *module);
        if (!module)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *module = (struct module){
                .context = context,
                .program = program_ref(program),
                .library = library,
        };

        CUresult r = program_take_ptx(program, &module->ptx);

        if (r == CUDA_SUCCESS)
                r = variables_place(module, jit);
        if (r == CUDA_SUCCESS)
                r = functions_make(module);
        if (r != CUDA_SUCCESS) {
                module_release(module);
                return r;
        }
        variables_fill(module);
        module->magic = MODULE_MAGIC;

        autounlock pthread_mutex_t *held = scope_lock(&driver.lock);

        module->next = context->modules;
        context->modules = module;
        *ret_module = module;
        return CUDA_SUCCESS;
}

CUresult module_load(struct context *context, const void *image, size_t bytes, struct jit *jit,
                     struct module **ret_module)
{
        uint64_t start_ns = clock_now_ns();
        struct program *program = NULL;
        struct err e = { 0 };
        CUresult r = program_new(image, bytes, device_gpu(context->device), &program, &e);

        if (r == CUDA_SUCCESS)
                r = module_new(context, program, NULL, jit, ret_module);
        if (r == CUDA_ERROR_INVALID_PTX && !e.text[0])
                err_set(&e, -EINVAL, "an external variable is not defined");
        if (r != CUDA_SUCCESS && e.text[0])
                jit_complain(jit, "%s\n", e.text);
        program_unref(program);
        jit_done(jit, clock_now_ns() - start_ns);
        return r;
}

static void module_unlist(struct module *module)
{
        autounlock pthread_mutex_t *held = scope_lock(&driver.lock);

        for (struct module **link = &module->context->modules; *link; link = &(*link)->next) {
                if (*link == module) {
                        *link = module->next;
                        return;
                }
        }
}

void module_free(struct module *module)
{
        context_wait(module->context);
        module_unlist(module);
        module_release(module);
}

void module_context_done(struct context *context)
{
        while (context->modules) {
                struct module *module = context->modules;

                module_unlist(module);
                module_release(module);
        }
}

struct function *module_find(const struct module *module, const char *name)
{
        const struct program_kernel *kernel = program_kernel(module->program, name);

        return kernel ? module->functions[kernel - module->program->kernels] : NULL;
}

CUresult module_variable(const struct module *module, const char *name, CUdeviceptr *ret_address,
                         size_t *ret_bytes)
{
        const struct program_variable *variable = program_variable(module->program, name);

        if (!variable || variable->is_reference)
                return CUDA_ERROR_NOT_FOUND;
        if (ret_address)
                *ret_address = module->variables[variable - module->program->variables].address;
        if (ret_bytes)
                *ret_bytes = variable->bytes;
        return CUDA_SUCCESS;
}

struct texture *module_reference(const struct module *module, const char *name, bool is_surface)
{
        const struct program_variable *variable = program_variable(module->program, name);

        if (!variable || !variable->is_reference || variable->is_surface != is_surface)
                return NULL;
        return module->variables[variable - module->program->variables].reference;
}
