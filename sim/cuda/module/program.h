/* SPDX-License-Identifier: Apache-2.0 */
/* A program: what an image holds, before it is on any device. Modules and libraries share it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_prototypes.h"
#include "err.h"
#include "function.h"

struct ptx_module;

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

/* Parses an image of any kind: PTX text, ELF, fat binary or its wrapper, or what cuLinkComplete
 * gave. INVALID_IMAGE, INVALID_PTX, OUT_OF_MEMORY …; the reason in *e. One reference is the
 * caller's. bytes 0: the length is not known, as in most calls. The image is not needed afterwards. */
CUresult program_new(const void *image, size_t bytes, const struct machine_gpu *gpu,
                     struct program **ret_program, struct err *e);
/* Reads an image file: FILE_NOT_FOUND … The caller frees *ret_image. */
CUresult program_read(const char *path, char **ret_image, size_t *ret_bytes);
struct program *program_ref(struct program *program);
void program_unref(struct program *program); /* NULL is fine */

/* NULL: no such kernel or variable. */
const struct program_kernel *program_kernel(const struct program *program, const char *name);
const struct program_variable *program_variable(const struct program *program, const char *name);

/* A parsed PTX module of one's own, NULL in *ret_ptx when the program has no PTX; give it back. */
CUresult program_take_ptx(struct program *program, struct ptx_module **ret_ptx);
void program_give_ptx(struct program *program, struct ptx_module *ptx);
