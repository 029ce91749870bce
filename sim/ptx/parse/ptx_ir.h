/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser makes and the interpreter runs: modules, functions, pre-decoded instructions. */
#pragma once

#include "ptx.h"
#include "ptx_type.h"

/* Generic addresses from here on belong to windows of the interpreter, not to the driver. */
#define WINDOW_SHARED   (UINT64_C(1) << 48)
#define WINDOW_LOCAL    (UINT64_C(2) << 48)
#define WINDOW_PARAM    (UINT64_C(3) << 48)
#define WINDOW_FUNCTION (UINT64_C(4) << 48)
#define WINDOW_GRID     (UINT64_C(5) << 48) /* of a cooperative launch */
#define WINDOW_MASK     (UINT64_C(0xffff) << 48)

#define LANES     32u
#define ALL_LANES UINT32_MAX
#define NO_SLOT   UINT32_MAX

struct insn;
struct warp;
typedef void handler(struct warp *w, const struct insn *i);
typedef uint32_t compare(const void *a, const void *b); /* rows; one bit per lane */

/* A row of 32 lanes (one 32-bit mask for a predicate) in the frame or among the constants. */
struct slot {
        uint32_t offset;
        uint8_t base;  /* 0 frame, 1 constants */
        uint8_t width; /* bytes per lane; 0 = predicate */
};

enum space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_CONST, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM };

enum rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP, ROUND_AWAY };

struct insn {
        handler *run;
        uint32_t guard; /* predicate's offset in the frame, NO_SLOT = always */
        bool is_guard_negated;
        uint8_t type, from; /* enum type: of the operation; of a conversion's source */
        uint8_t space;
        uint8_t mode; /* meaning belongs to the handler */
        uint8_t rounding;
        bool is_saturating, is_flushing, is_approximate, is_flagged;
        uint8_t count; /* entries in list */
        uint32_t target;
        uint32_t line;
        int64_t immediate;
        struct slot d, d2, a, b, c;
        struct slot *list;  /* vector elements; owned by the function */
        const void *detail; /* owned by the function */
        compare *compare;
};

/* A parameter, return value or variable in a function's own per-thread memory. */
struct parameter {
        uint32_t offset, size, align;
};

/* A call's way: which bytes of the caller's memory are handed over and where results go. */
struct call_site {
        uint32_t function; /* index; UINT32_MAX = indirect through insn.a */
        uint32_t argument_count, result_count;
        struct parameter *arguments, *results;
};

struct branch_table {
        uint32_t count;
        uint32_t *targets;
};

/* Functions every device has. */
enum system_kind { SYSTEM_NONE, SYSTEM_PRINTF, SYSTEM_MALLOC, SYSTEM_FREE, SYSTEM_ASSERT };

struct function {
        char *name;
        uint32_t unit, index, definition; /* definition: where a declaration's body is */
        bool is_kernel, is_defined, is_visible, is_weak, is_extern;
        uint32_t system; /* enum system_kind */
        struct insn *code;
        uint32_t code_count;
        unsigned char *constants;
        uint32_t constants_bytes;
        uint32_t frame_bytes;
        uint32_t register_bytes; /* declared, per thread */
        uint32_t memory_bytes;   /* per thread: parameters and .local variables */
        struct parameter *params, *returns;
        uint32_t param_count, return_count;
        uint32_t *shared; /* .shared variables it names */
        uint32_t shared_count;
        uint32_t *callees;
        uint32_t callee_count;
        void **owned; /* lists and details of its instructions */
        uint32_t owned_count;
        uint32_t max_threads, required_block[3];
        bool reads_clock, has_indirect_call, uses_cluster;
        char *reason; /* why it cannot run, or NULL */
};

struct relocation {
        uint64_t at;
        int64_t addend;
        uint32_t symbol;
        uint8_t width;
        uint8_t shift; /* of masked byte relocations */
        bool is_function;
};

enum variable_space { VARIABLE_GLOBAL, VARIABLE_CONST, VARIABLE_SHARED };

struct variable {
        struct ptx_variable view;
        enum variable_space space;
        uint32_t unit, definition;
        bool is_extern, is_weak, is_local_scope;
        uint64_t address;
        unsigned char *initial;
        uint64_t initial_bytes;
        struct relocation *relocations;
        uint32_t relocation_count;
};

/* Where a .shared variable lies in a kernel's shared memory. */
struct shared_offset {
        uint32_t variable, offset;
        bool is_dynamic;
};

struct ptx_kernel {
        const struct ptx_module *module;
        const struct function *function;
        struct ptx_footprint footprint;
        struct ptx_param *params;
        struct shared_offset *shared;
        uint32_t shared_count;
        uint32_t stack_bytes; /* per thread, for calls */
        bool uses_cluster;
        char *reason;
};

struct ptx_module {
        struct function *functions;
        uint32_t function_count;
        struct variable *variables;
        uint32_t variable_count;
        uint32_t *listed; /* variables the driver places */
        uint32_t listed_count;
        struct ptx_kernel *kernels;
        uint32_t kernel_count;
        unsigned target_sm, ptx_version;
};

/* ptx_link.c: resolves declarations, computes every kernel's footprint. */
int module_finish(struct ptx_module *module, struct err *e);
