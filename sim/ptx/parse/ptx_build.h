/* SPDX-License-Identifier: Apache-2.0 */
/* The parser's state and what decoders work with: statements, operands, emitted instructions. */
#pragma once

#include "ptx_ir.h"
#include "ptx_lex.h"

struct err;

#define STATEMENT_SUFFIXES 16u
#define STATEMENT_OPERANDS 16u
#define STATEMENT_ELEMENTS 96u
#define MODULE_LIMIT       (1u << 20)  /* functions, variables, registers of a function */
#define FRAME_LIMIT        (16u << 20) /* bytes of a function's registers for one warp */
#define MEMORY_LIMIT       (64u << 20) /* bytes of parameters and .local variables of a thread */

struct slice {
        const char *text;
        size_t length;
};

enum symbol_kind {
        SYMBOL_REGISTER,
        SYMBOL_VARIABLE,
        SYMBOL_MEMORY,
        SYMBOL_FUNCTION,
        SYMBOL_TARGETS
};

/* A name in scope. MEMORY: a parameter or .local variable at `offset` of the thread's memory. */
struct symbol {
        struct slice name;
        uint32_t next, bucket; /* chain; outer declarations come later in it */
        enum symbol_kind kind;
        enum type type;
        uint8_t vector; /* registers: 0, 2 or 4 components */
        bool is_kernel_param, is_local;
        struct slot slot;
        uint32_t index, offset, size, align;
        const struct branch_table *table;
};

struct symbols {
        struct symbol *list;
        uint32_t count, capacity;
        uint32_t *buckets;
};

enum operand_kind {
        OPERAND_NONE,
        OPERAND_REGISTER,
        OPERAND_INTEGER,
        OPERAND_FLOAT,
        OPERAND_SYMBOL,  /* address of a variable, memory or function */
        OPERAND_SPECIAL, /* %tid.x … */
        OPERAND_ADDRESS, /* [base + offset]; base is element 0 */
        OPERAND_VECTOR,  /* {a, b} */
        OPERAND_LIST,    /* (a, b) of a call */
        OPERAND_NAME,    /* a label, or a name not known yet */
        OPERAND_SINK,    /* _ */
};

struct operand {
        enum operand_kind kind;
        enum type type; /* of a register */
        bool is_negated, is_single;
        struct slot slot;
        bool has_second; /* a|b */
        struct slot second;
        uint64_t bits;
        int64_t offset;
        uint32_t symbol; /* index into symbols, or special register */
        struct slice name;
        struct operand *elements;
        uint32_t count;
};

struct statement {
        struct slice opcode;
        struct slice suffixes[STATEMENT_SUFFIXES];
        unsigned suffix_count;
        struct operand operands[STATEMENT_OPERANDS];
        unsigned operand_count;
        struct operand elements[STATEMENT_ELEMENTS];
        unsigned element_count;
        struct slot guard;
        bool has_guard, is_guard_negated;
        uint32_t line;
};

struct label {
        struct slice name;
        uint32_t scope, pc;
};

/* A use of a label, patched when the function ends: an instruction's target or a table's entry. */
struct label_use {
        struct slice name;
        uint32_t scope, insn, line;
        uint32_t *table; /* NULL: insn.target */
};

struct recent_constant {
        uint64_t bits;
        struct slot slot;
};

/* The function being read. */
struct body {
        struct recent_constant recent[16];
        uint32_t recent_count, recent_next;
        struct function *function; /* its own storage: the module's array may move */
        uint32_t code_capacity, constants_capacity, owned_capacity, shared_capacity,
                callee_capacity;
        struct label *labels;
        uint32_t label_count, label_capacity;
        struct label_use *uses;
        uint32_t use_count, use_capacity;
        uint32_t *scope_parent;
        uint32_t scope_count, scope_capacity, scope;
        struct statement *statement;
};

struct parser {
        struct lexer lexer;
        struct ptx_module *module;
        uint32_t unit;
        struct symbols symbols;
        uint32_t function_capacity, variable_capacity;
        struct symbol *pending; /* parameters of the header just read */
        uint32_t pending_count, pending_capacity;
        struct body body;
        struct err *e;
        int failure; /* sticky: first error, negative errno */
};

/* Failures: the parse ends with the first. Returns the errno. */
int parser_fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
int parser_no_memory(struct parser *p);
bool parser_expect(struct parser *p, const char *mark); /* consumes it, or fails */
bool parser_accept(struct parser *p, const char *mark);
bool parser_accept_suffix(struct parser *p, const char *text);
/* Makes space for one more; false: failed. */
bool parser_grow(struct parser *p, void *array, uint32_t *capacity, uint32_t count, size_t size);
int64_t parser_constant(struct parser *p); /* an integer expression of literals */

/* ptx_symbol.c */
struct symbol *symbol_find(struct parser *p, struct slice name);
struct symbol *symbol_add(struct parser *p, struct slice name); /* NULL: failed */
void symbols_drop(struct symbols *symbols, uint32_t count);     /* leave a scope */
int symbols_init(struct symbols *symbols);
void symbols_done(struct symbols *symbols);
bool slice_is(struct slice slice, const char *text);
char *slice_copy(struct slice slice);

/* ptx_parse_variable.c */
struct declaration {
        struct slice name;
        enum type type;
        unsigned vector;
        uint64_t size;
        uint32_t align;
        bool is_array, is_unsized;
        uint32_t range; /* of %r<range>, 0 = none */
};
bool declaration_type(struct parser *p, struct declaration *ret); /* .align .v4 .f32 */
bool declaration_name(struct parser *p, struct declaration *d);   /* name[4][2], %r<9> */
struct linkage {
        bool is_visible, is_extern, is_weak, is_common, is_managed;
};
void variable_parse(struct parser *p, const char *space, struct linkage linkage);

/* ptx_parse_body.c */
void body_parse(struct parser *p, struct function *function);

/* ptx_statement.c */
void statement_parse(struct parser *p, struct statement *ret);

/* ptx_special.c: special registers by name; -1 = none. */
int special_find(struct slice name, struct slice component);
bool special_reads_clock(int special);
bool special_uses_cluster(int special);
enum type special_type(int special);
handler special_run;

/* ptx_op_move.c */
handler op_symbol, op_predicate_not, op_predicate_set;
bool body_finish(struct parser *p); /* the return that a body may leave out */

/* ptx_emit.c: what decoders say about the function. false: the function cannot run. */
bool body_unsupported(struct parser *p, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
struct insn *body_emit(struct parser *p, handler *run); /* NULL: failed; valid until the next */
bool body_source(struct parser *p, const struct operand *o, enum type type, struct slot *ret);
bool body_source_any(struct parser *p, const struct operand *o, enum type type, struct slot *ret);
bool body_destination(struct parser *p, const struct operand *o, enum type type, struct slot *ret);
bool body_predicate(struct parser *p, const struct operand *o, bool is_destination,
                    struct slot *ret); /* a negated source is inverted into a temporary */
bool body_register(struct parser *p, unsigned width, struct slot *ret); /* a new one */
bool body_constant(struct parser *p, uint64_t bits, unsigned width, struct slot *ret);
void *body_own(struct parser *p, size_t bytes); /* zeroed, freed with the function */
bool body_use_label(struct parser *p, struct slice name, uint32_t insn, uint32_t *table);
bool body_address(struct parser *p, const struct operand *o, struct slot *ret_base,
                  int64_t *ret_offset); /* OPERAND_ADDRESS to a 32- or 64-bit register + offset */

bool statement_has(const struct statement *s, const char *suffix);
enum type statement_type(const struct statement *s, unsigned n); /* the nth type suffix */
enum rounding statement_rounding(const struct statement *s);

/* Decoders. Each family has a table of rows, ended by a NULL name. */
struct opcode {
        const char *name;
        bool (*decode)(struct parser *p, const struct statement *s, const struct opcode *opcode);
        handler *const *by_type;  /* TYPE_COUNT handlers */
        handler *const *by_type2; /* a second flavour: .hi, .wide … */
        unsigned operands;
};
extern const struct opcode opcodes_integer[], opcodes_float[], opcodes_move[], opcodes_compare[],
        opcodes_memory[], opcodes_atomic[], opcodes_control[], opcodes_warp[], opcodes_convert[],
        opcodes_texture[], opcodes_async[], opcodes_bits[], opcodes_mma[], opcodes_wmma[],
        opcodes_mbarrier[], opcodes_field[], opcodes_carry[], opcodes_barrier[];
const struct opcode *opcode_find(struct slice name);
void body_decode(struct parser *p, const struct statement *s);
