/* SPDX-License-Identifier: Apache-2.0 */
/* What a program holds: its kernels and variables, gathered from PTX and machine code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_types.h"

struct fatbin_kernel;
struct fatbin_variable;
struct program_source;
struct ptx_module;

struct function_parameter {
        size_t offset, size;
};

struct program_kernel {
        char *name;
        bool has_ptx;
        unsigned registers; /* never 0 */
        unsigned shared_bytes, local_bytes;
        unsigned max_threads; /* 0: not said */
        unsigned cluster[3];  /* 0: not said */
        unsigned parameter_count;
        size_t parameter_bytes;
        struct function_parameter *parameters;
        const struct program *program;
};

struct program_variable {
        char *name;
        uint64_t bytes;
        uint32_t align;
        bool is_const, is_managed;
        bool is_reference; /* texture, surface, sampler */
        bool is_surface;
        bool is_undefined; /* .extern: the loader must say where it is */
        bool has_ptx;
        size_t ptx_index;
        void *initial; /* of a variable that only the ELF image has; may be NULL */
};

struct program {
        _Atomic unsigned references;
        struct program_kernel *kernels; /* sorted by name */
        size_t kernel_count;
        size_t ptx_kernel_count; /* those that have PTX: the first while gathering */
        struct program_variable *variables;
        size_t variable_count;
        size_t code_bytes; /* what the code takes on the GPU */
        size_t const_bytes;
        unsigned ptx_version;    /* 80: the PTX was made for compute capability 8.0 */
        unsigned binary_version; /* the same of the machine code; 0: none, compiled on load */
        CUdeviceptr *managed;    /* as the variables; see program_managed.h */
        void (*managed_done)(struct program *program);
        struct program_source *source; /* the texts, to parse again for another context */
};

/* NULL: no such kernel or variable. */
const struct program_kernel *program_kernel(const struct program *program, const char *name);
const struct program_variable *program_variable(const struct program *program, const char *name);

/* All add to the program: what its PTX has, and what else its machine code has. -ENOMEM. */
int program_add_ptx(struct program *program, const struct ptx_module *ptx);
int program_add_kernel(struct program *program, const struct fatbin_kernel *binary);
int program_add_variable(struct program *program, const struct fatbin_variable *binary);
/* When all is gathered: sorts the kernels. */
void program_content_finish(struct program *program);
void program_content_done(struct program *program);
