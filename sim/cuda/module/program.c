/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: the kernels and variables of an image, gathered from its PTX and its machine code. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin.h"
#include "fd.h"
#include "program_source.h"
#include "ptx.h"
#include "scope.h"

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

static void program_free(struct program *program)
{
        if (program->managed_done)
                program->managed_done(program);
        kernels_free(program);
        variables_free(program);
        program_source_free(program->source);
        free(program);
}

struct program *program_ref(struct program *program)
{
        atomic_fetch_add(&program->references, 1);
        return program;
}

void program_unref(struct program *program)
{
        if (program && atomic_fetch_sub(&program->references, 1) == 1)
                program_free(program);
}

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

static int ptx_gather(struct program *program, const struct ptx_module *ptx)
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
static void kernels_finish(struct program *program)
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

CUresult program_new(const void *image, size_t bytes, const struct machine_gpu *gpu,
                     struct program **ret_program, struct err *e)
{
        struct program *program = calloc(1, sizeof *program);
        struct ptx_module *ptx = NULL;

        if (!program)
                return CUDA_ERROR_OUT_OF_MEMORY;
        program->references = 1;
        program->source = program_source_new();

        CUresult r = program->source ? program_source_read(program->source, image, bytes, gpu, e)
                                     : CUDA_ERROR_OUT_OF_MEMORY;

        if (r == CUDA_SUCCESS)
                r = program_source_parse(program->source, gpu, &ptx, e);
        if (r == CUDA_SUCCESS && ptx && ptx_gather(program, ptx) < 0)
                r = CUDA_ERROR_OUT_OF_MEMORY;
        if (r == CUDA_SUCCESS && program_source_gather(program->source, program) < 0)
                r = CUDA_ERROR_OUT_OF_MEMORY;
        if (program->source)
                program_give_ptx(program, ptx);
        if (r != CUDA_SUCCESS) {
                program_free(program);
                return r;
        }
        kernels_finish(program);
        *ret_program = program;
        return CUDA_SUCCESS;
}

CUresult program_read(const char *path, char **ret_image, size_t *ret_bytes)
{
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return CUDA_ERROR_FILE_NOT_FOUND;

        int r = fd_read_all(fd, ret_image, ret_bytes);

        if (r == -ENOMEM)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (r < 0)
                return CUDA_ERROR_FILE_NOT_FOUND;
        if (*ret_bytes > 0)
                return CUDA_SUCCESS;
        free(*ret_image);
        *ret_image = NULL;
        return CUDA_ERROR_INVALID_IMAGE;
}
