/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: what a module or library holds, and how long one takes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "context.h"
#include "program_content.h"

struct ptx_kernel;
struct module;

#define FUNCTION_MAGIC UINT32_C(0x6e756676)

/* A CUfunction: a kernel in a module, that is, on one context. Never freed, only pooled, so that
 * an old handle is told apart (magic 0) and work that is still queued may read it. */
struct function {
        uint32_t magic;
        struct module *module;
        const char *name;             /* the program's */
        const struct ptx_kernel *ptx; /* NULL: no PTX, costs time only */
        const char *reason;           /* why it cannot be interpreted; NULL: it can */
        _Atomic bool is_said;         /* the reason was printed */
        _Atomic bool is_loaded;       /* lazy loading: somebody has asked for it or run it */
        bool has_fixed_duration;      /* --kernel NAME=MICROSECONDS */
        uint64_t fixed_duration_ns;
        _Atomic uint64_t beyond_threads; /* so many threads were beyond the budget; 0: none yet */
        unsigned parameter_count;
        size_t parameter_bytes;
        const struct function_parameter *parameters;
        const struct program_kernel *kernel;
        _Atomic int attributes[CU_FUNC_ATTRIBUTE_MAX];
        struct function *next; /* in the pool */
};

/* Made by the module; the pool's to keep. NULL: no memory. */
struct function *function_new(struct module *module, const struct machine_gpu *gpu,
                              const struct program_kernel *kernel, const struct ptx_kernel *ptx);
void function_free(struct function *function);

/* What cuFuncGetAttribute answers for a kernel on this GPU before anybody sets anything. */
void function_attributes(const struct program_kernel *kernel, const struct machine_gpu *gpu,
                         _Atomic int ret_attributes[CU_FUNC_ATTRIBUTE_MAX]);
/* Checks and stores; the attributes that describe the kernel are refused. */
CUresult function_set_attribute(_Atomic int attributes[CU_FUNC_ATTRIBUTE_MAX],
                                const struct machine_gpu *gpu, CUfunction_attribute attribute,
                                int value);

/* Simulated time of a launch by the model (sim/docs/simulator.md): grid × block on this device. */
uint64_t function_duration_ns(const struct function *function, const struct device *device,
                              unsigned sm_count, const unsigned grid[3], const unsigned block[3]);
