/* Kernels: what a module or library holds, and how long one takes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "context.h"

struct ptx_kernel;
struct module;

#define FUNCTION_MAGIC UINT32_C(0x6e756676)

/* A CUfunction, and a CUkernel as well (one object serves as both). */
struct function {
        uint32_t magic;
        struct module *module;
        const char *name;
        const struct ptx_kernel *ptx;   /* NULL: no PTX, costs time only */
        const char *reason;             /* why it cannot be interpreted; NULL: it can */
        bool is_said;                   /* the reason was printed */
        bool has_fixed_duration;        /* --kernel NAME=MICROSECONDS */
        uint64_t fixed_duration_ns;
        unsigned parameter_count;
        size_t parameter_bytes;
        const struct function_parameter { size_t offset, size; } *parameters;
        int attributes[16];             /* CUfunction_attribute */
        struct function *next;
};

/* NULL: `handle` is neither a function nor a kernel. */
struct function *function_get(CUfunction handle);
/* Simulated time of a launch by the model (docs/simulator.md): grid × block on this device. */
uint64_t function_duration_ns(const struct function *function, const struct device *device,
                              unsigned sm_count, const unsigned grid[3], const unsigned block[3]);
