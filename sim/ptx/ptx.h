/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX interpreter: parses PTX text into modules and runs their kernels on host memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct ptx_module;
struct ptx_kernel;

/* One input of a link: need not be NUL-terminated; a NUL inside the length ends it. */
struct ptx_text {
        const char *text;
        size_t length;
};

/* Parses PTX text. -EINVAL: not PTX (the sentence names the line). An instruction we do not know
 * is no error: the kernels that reach it are not runnable and say why. The text is copied. */
int ptx_module_new(const char *text, size_t length, struct ptx_module **ret_module, struct err *e);

/* The same for several texts that refer to each other's .visible/.weak/.extern symbols. */
int ptx_module_link(const struct ptx_text *texts, size_t count, struct ptx_module **ret_module,
                    struct err *e);
void ptx_module_free(struct ptx_module *module); /* NULL is fine */

/* Kernels belong to their module. */
size_t ptx_module_kernel_count(const struct ptx_module *module);
const struct ptx_kernel *ptx_module_kernel(const struct ptx_module *module, size_t index);
const struct ptx_kernel *ptx_kernel_find(const struct ptx_module *module, const char *name);
unsigned ptx_module_target_sm(const struct ptx_module *module);   /* .target sm_80 gives 80 */
unsigned ptx_module_ptx_version(const struct ptx_module *module); /* .version 8.5 gives 85 */

struct ptx_param {
        uint32_t offset, size, align;
};

/* What a launch of the kernel needs, and whether it can be computed. */
struct ptx_footprint {
        uint32_t param_count;
        uint32_t param_bytes;
        uint32_t shared_bytes; /* static */
        uint32_t local_bytes;  /* per thread, of the kernel and what it calls */
        uint32_t registers;    /* an estimate, never 0 */
        uint32_t max_threads;  /* .maxntid product, 0 = not said */
        uint32_t required_block[3];
        bool reads_clock; /* %clock, %clock64, %globaltimer or nanosleep */
        bool is_runnable;
        const char *reason; /* why not runnable, NULL otherwise */
};

const char *ptx_kernel_name(const struct ptx_kernel *kernel);
const struct ptx_footprint *ptx_kernel_footprint(const struct ptx_kernel *kernel);
const struct ptx_param *ptx_kernel_param(const struct ptx_kernel *kernel, size_t index);

enum ptx_variable_kind {
        PTX_VARIABLE_PLAIN,
        PTX_VARIABLE_TEXTURE,
        PTX_VARIABLE_SURFACE,
        PTX_VARIABLE_SAMPLER
};

/* A .global or .const variable, or a texture, surface or sampler reference of module scope. */
struct ptx_variable {
        const char *name;
        uint64_t size;
        uint32_t align;
        enum ptx_variable_kind kind;
        bool is_const;
        bool is_managed;
        bool is_visible;
        bool is_undefined; /* .extern and nobody defines it */
};

size_t ptx_module_variable_count(const struct ptx_module *module);
const struct ptx_variable *ptx_module_variable(const struct ptx_module *module, size_t index);

/* Where the driver placed a variable (for a texture, surface or sampler: its handle). To be called
 * for every variable before the first launch. */
void ptx_module_set_address(struct ptx_module *module, size_t index, uint64_t address);

/* True when the variable starts with other bytes than zero. */
bool ptx_module_has_initial(const struct ptx_module *module, size_t index);

/* Writes the variable's `size` initial bytes. Addresses of other variables are those set so far. */
void ptx_module_write_initial(const struct ptx_module *module, size_t index, void *ret_bytes);

/* How the interpreter reaches memory. resolve() returns the host pointer of `address` when
 * [address, address + length) may be accessed, NULL otherwise, and the valid range around it,
 * [*ret_lo, *ret_hi), contiguous on the host too. The answer may be kept until the launch ends.
 * Called from several threads at once. Addresses at or above 1 << 48 never reach it. */
struct ptx_memory {
        void *(*resolve)(void *closure, uint64_t address, size_t length, bool is_write,
                         uint64_t *ret_lo, uint64_t *ret_hi);
        uint64_t (*heap_alloc)(void *closure, uint64_t bytes); /* device malloc; NULL: always 0 */
        void (*heap_free)(void *closure, uint64_t address);
        void *closure;
};

/* One texel read or written for one thread. Coordinates are floats or integers as the instruction
 * has them; a fetch fills four 32-bit lanes (float or integer bits); false = illegal address. */
struct ptx_texel {
        uint64_t handle;
        uint64_t sampler; /* 0 in unified mode */
        unsigned dimensions;
        bool is_array, is_cube, is_integer_coordinate, has_level;
        bool is_gather; /* tld4: `component` of the four neighbours */
        unsigned component;
        float coordinate[4]; /* array layer last where is_array */
        int32_t coordinate_int[4];
        float level;
        unsigned bytes;    /* surfaces: bytes accessed */
        unsigned boundary; /* surfaces: 0 trap, 1 clamp, 2 zero */
        uint32_t value[4];
};

struct ptx_images {
        bool (*fetch)(void *closure, struct ptx_texel *texel);
        bool (*surface_load)(void *closure, struct ptx_texel *texel);
        bool (*surface_store)(void *closure, struct ptx_texel *texel);
        uint32_t (*query)(void *closure, uint64_t handle, const char *what); /* "width" … */
        void *closure;
};

struct ptx_launch {
        const struct ptx_kernel *kernel;
        uint32_t grid[3], block[3], cluster[3]; /* cluster: 0 or 1 = none */
        uint32_t dynamic_shared_bytes;
        const void *params; /* laid out as ptx_kernel_param() says; shorter is read as zeros */
        size_t params_size;
        const struct ptx_memory *memory;
        const struct ptx_images *images; /* NULL: texture instructions are unsupported */
        void (*print)(void *closure, const char *text,
                      size_t length); /* device printf; may be NULL */
        void (*complain)(void *closure, const char *text,
                         size_t length); /* a failed assert; NULL: print does it */
        void *print_closure;             /* of both */
        uint64_t clock_base_ns;          /* simulated time at the start */
        uint32_t sm_count, clock_mhz;
        uint32_t blocks_per_sm; /* resident, for waves of clock-reading kernels; 0 = one */
        uint64_t grid_id;
        uint64_t budget_instructions; /* of all threads; 0 = no limit */
        unsigned workers;             /* 0 = one per core, once the launch has proven long */
        bool is_cooperative;
        const bool *is_cancelled; /* polled; may be NULL */
};

enum ptx_status {
        PTX_DONE,
        PTX_ILLEGAL_ADDRESS,
        PTX_MISALIGNED,
        PTX_TRAP,
        PTX_ASSERT,
        PTX_BUDGET,
        PTX_UNSUPPORTED,
        PTX_LAUNCH_FAILURE,
        PTX_CANCELLED,
};

struct ptx_outcome {
        enum ptx_status status;
        uint64_t fault_address;
        uint64_t instructions;   /* executed by all threads */
        uint64_t clock_spent_ns; /* time moved on by clock reads and nanosleep */
        char reason[160];        /* one sentence unless PTX_DONE */
};

/* Runs the kernel to its end on this thread and its workers. 0 whenever *ret_outcome was filled;
 * -EINVAL: dimensions that no device takes; -ENOMEM. */
int ptx_launch(const struct ptx_launch *launch, struct ptx_outcome *ret_outcome);
