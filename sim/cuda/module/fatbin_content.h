/* SPDX-License-Identifier: Apache-2.0 */
/* What an image holds, once it is taken apart. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fatbin_param {
        uint32_t offset, size;
};

/* A kernel as the machine code describes it. */
struct fatbin_kernel {
        char *name;
        uint32_t registers, shared_bytes, local_bytes;
        uint32_t max_threads; /* 0 = not said */
        uint32_t param_count, param_bytes;
        struct fatbin_param *params;
};

/* A variable of the machine code. */
struct fatbin_variable {
        char *name;
        uint64_t size;
        bool is_const;
        unsigned char *initial; /* NULL = zeros */
};

struct fatbin {
        char *ptx; /* NUL-terminated, NULL when there is none for this device */
        size_t ptx_length;
        unsigned ptx_sm; /* 80 for compute capability 8.0 */
        bool has_elf;
        unsigned elf_sm;
        struct fatbin_kernel *kernels;
        size_t kernel_count;
        struct fatbin_variable *variables;
        size_t variable_count;
        unsigned least_sm; /* of all PTX in the image, also what is too new; 0 = no PTX */
};
