/* SPDX-License-Identifier: Apache-2.0 */
/* Images a program hands to the driver: fat binaries (with or without wrapper), ELF machine code,
 * bare PTX. What comes out: the best PTX text and what the machine code says about its kernels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

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

/* Takes an image apart. `length` 0: not known, the image's own sizes are believed. Chosen: the PTX
 * made for the newest device not newer than `device_sm` (80 for 8.0), the ELF of the nearest sm of
 * the same generation. Neither may exist: that is no error.
 * -EINVAL: no image we know, or a damaged one; -ENOMEM. The caller ends it with fatbin_done(). */
int fatbin_read(const void *image, size_t length, unsigned device_sm, struct fatbin *ret_fatbin,
                struct err *e);
void fatbin_done(struct fatbin *fatbin);
