/* SPDX-License-Identifier: Apache-2.0 */
/* Options of loading and linking: what a program wants to be told about it. */
#pragma once

#include "cuda_prototypes.h"

/* Where the messages go; all the caller's. */
struct jit {
        char *info_log, *error_log;
        size_t info_bytes, error_bytes;   /* capacity */
        size_t info_length, error_length; /* used, without the terminator */
        void **ret_info_length, **ret_error_length;
        void **ret_wall_time, **ret_threads;
        const char *const *symbol_names; /* CU_JIT_GLOBAL_SYMBOL_*: variables with an address */
        void *const *symbol_addresses;
        unsigned symbol_count;
};

/* INVALID_VALUE: an option that does not exist, or no arrays. */
CUresult jit_init(struct jit *jit, unsigned count, const CUjit_option *options, void **values);

void jit_complain(struct jit *jit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the lengths and times back into the caller's option values. */
void jit_done(struct jit *jit, uint64_t spent_ns);
