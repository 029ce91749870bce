/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels and variables of a program. */
#include "program_content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin.h"
#include "ptx.h"

static int kernel_compare(const void *a, const void *b)
{
        return strcmp(((const struct program_kernel *)a)->name,
                      ((const struct program_kernel *)b)->name);
}

const struct program_kernel *program_kernel(const struct program *program, const char *name)
{
        const struct program_kernel key = { .name = (char *)name };

        return bsearch(&key, program->kernels, program->kernel_count, sizeof key, kernel_compare);
}

const struct program_variable *program_variable(const struct program *program, const char *name)
{
        for (size_t i = 0; i < program->variable_count; i++)
                if (strcmp(program->variables[i].name, name) == 0)
                        return &program->variables[i];
        return NULL;
}

/* One more at the end, zeroed; the arrays grow in steps that are powers of two. */
static void *array_grow(void *array, size_t item_bytes, size_t *count)
{
        if ((*count & (*count - 1)) == 0) {
                size_t capacity = *count ? *count * 2 : 1;
                void *bigger = realloc(array, capacity * item_bytes);

                if (!bigger)
                        return NULL;
                array = bigger;
        }
        memset((char *)array + *count * item_bytes, 0, item_bytes);
        (*count)++;
        return array;
}

static struct program_kernel *kernel_add(struct program *program, const char *name)
{
        void *array =
                array_grow(program->kernels, sizeof *program->kernels, &program->kernel_count);
        struct program_kernel *kernel;

        if (!array)
                return NULL;
        program->kernels = array;
        kernel = &program->kernels[program->kernel_count - 1];
        kernel->program = program;
        kernel->name = strdup(name);
        if (!kernel->name) {
                program->kernel_count--;
                return NULL;
        }
        return kernel;
}

static int kernel_add_ptx(struct program *program, const struct ptx_kernel *ptx)
{
        const struct ptx_footprint *footprint = ptx_kernel_footprint(ptx);
        struct program_kernel *kernel = kernel_add(program, ptx_kernel_name(ptx));

        if (!kernel)
                return -ENOMEM;
        kernel->has_ptx = true;
        kernel->registers = footprint->registers;
        kernel->shared_bytes = footprint->shared_bytes;
        kernel->local_bytes = footprint->local_bytes;
        kernel->max_threads = footprint->max_threads;
        kernel->parameter_bytes = footprint->param_bytes;
        kernel->parameters = calloc(footprint->param_count + 1u, sizeof *kernel->parameters);
        if (!kernel->parameters)
                return -ENOMEM;
        kernel->parameter_count = footprint->param_count;
        for (size_t i = 0; i < footprint->param_count; i++) {
                const struct ptx_param *parameter = ptx_kernel_param(ptx, i);

                kernel->parameters[i] =
                        (struct function_parameter){ parameter->offset, parameter->size };
        }
        return 0;
}

static struct program_variable *variable_add(struct program *program, const char *name)
{
        void *array = array_grow(program->variables, sizeof *program->variables,
                                 &program->variable_count);
        struct program_variable *variable;

        if (!array)
                return NULL;
        program->variables = array;
        variable = &program->variables[program->variable_count - 1];
        variable->name = strdup(name);
        if (!variable->name) {
                program->variable_count--;
                return NULL;
        }
        return variable;
}

static int variable_add_ptx(struct program *program, const struct ptx_variable *ptx, size_t index)
{
        struct program_variable *variable = variable_add(program, ptx->name);

        if (!variable)
                return -ENOMEM;
        variable->bytes = ptx->size;
        variable->align = ptx->align;
        variable->is_const = ptx->is_const;
        variable->is_managed = ptx->is_managed;
        variable->is_reference = ptx->kind != PTX_VARIABLE_PLAIN;
        variable->is_surface = ptx->kind == PTX_VARIABLE_SURFACE;
        variable->is_undefined = ptx->is_undefined;
        variable->has_ptx = true;
        variable->ptx_index = index;
        if (ptx->is_const)
                program->const_bytes += ptx->size;
        return 0;
}

int program_add_ptx(struct program *program, const struct ptx_module *ptx)
{
        int r = 0;

        program->ptx_version = ptx_module_target_sm(ptx);
        for (size_t i = 0; r == 0 && i < ptx_module_kernel_count(ptx); i++)
                r = kernel_add_ptx(program, ptx_module_kernel(ptx, i));
        program->ptx_kernel_count = program->kernel_count;
        for (size_t i = 0; r == 0 && i < ptx_module_variable_count(ptx); i++)
                r = variable_add_ptx(program, ptx_module_variable(ptx, i), i);
        return r;
}

static int kernel_describe(struct program_kernel *kernel, const struct fatbin_kernel *binary)
{
        kernel->shared_bytes = binary->shared_bytes;
        kernel->local_bytes = binary->local_bytes;
        kernel->max_threads = binary->max_threads;
        kernel->parameter_bytes = binary->param_bytes;
        kernel->parameters = calloc(binary->param_count + 1u, sizeof *kernel->parameters);
        if (!kernel->parameters)
                return -ENOMEM;
        kernel->parameter_count = binary->param_count;
        for (unsigned i = 0; i < binary->param_count; i++)
                kernel->parameters[i] = (struct function_parameter){ binary->params[i].offset,
                                                                     binary->params[i].size };
        return 0;
}

/* Machine code knows the registers that PTX can only estimate. */
int program_add_kernel(struct program *program, const struct fatbin_kernel *binary)
{
        struct program_kernel *kernel = NULL;
        int r = 0;

        for (size_t i = 0; i < program->ptx_kernel_count && !kernel; i++)
                if (strcmp(program->kernels[i].name, binary->name) == 0)
                        kernel = &program->kernels[i];
        if (!kernel) {
                kernel = kernel_add(program, binary->name);
                if (!kernel)
                        return -ENOMEM;
                r = kernel_describe(kernel, binary);
        }
        if (binary->registers > 0)
                kernel->registers = binary->registers;
        return r;
}

int program_add_variable(struct program *program, const struct fatbin_variable *binary)
{
        enum { ALIGN = 16 };
        struct program_variable *variable;

        if (program_variable(program, binary->name))
                return 0;
        variable = variable_add(program, binary->name);
        if (!variable)
                return -ENOMEM;
        variable->bytes = binary->size;
        variable->align = ALIGN;
        variable->is_const = binary->is_const;
        if (binary->is_const)
                program->const_bytes += binary->size;
        if (!binary->initial || binary->size == 0)
                return 0;
        variable->initial = malloc(binary->size);
        if (!variable->initial)
                return -ENOMEM;
        memcpy(variable->initial, binary->initial, binary->size);
        return 0;
}

/* Whatever the image said, no attribute that programs divide by is 0. */
void program_content_finish(struct program *program)
{
        enum { REGISTERS_LEAST = 8, REGISTERS_MOST = 255, REGISTERS_UNKNOWN = 32 };

        for (size_t i = 0; i < program->kernel_count; i++) {
                struct program_kernel *kernel = &program->kernels[i];

                if (kernel->registers == 0)
                        kernel->registers = REGISTERS_UNKNOWN;
                if (kernel->registers < REGISTERS_LEAST)
                        kernel->registers = REGISTERS_LEAST;
                if (kernel->registers > REGISTERS_MOST)
                        kernel->registers = REGISTERS_MOST;
        }
        if (program->kernel_count > 0)
                qsort(program->kernels, program->kernel_count, sizeof *program->kernels,
                      kernel_compare);
}

static void kernels_free(struct program *program)
{
        for (size_t i = 0; i < program->kernel_count; i++) {
                free(program->kernels[i].name);
                free(program->kernels[i].parameters);
        }
        free(program->kernels);
}

static void variables_free(struct program *program)
{
        for (size_t i = 0; i < program->variable_count; i++) {
                free(program->variables[i].name);
                free(program->variables[i].initial);
        }
        free(program->variables);
}

void program_content_done(struct program *program)
{
        kernels_free(program);
        variables_free(program);
}
