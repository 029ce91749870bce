/* SPDX-License-Identifier: Apache-2.0 */
/* What decoders use to add instructions, registers and constants to the function being read. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_build.h"
#include "ptx_half.h"

bool body_unsupported(struct parser *p, const char *format, ...)
{
        struct function *f = p->body.function;
        char text[160];
        va_list arguments;

        if (f->reason || p->failure)
                return false;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        f->reason = strdup(text);
        if (!f->reason)
                parser_no_memory(p);
        return false;
}

struct insn *body_emit(struct parser *p, handler *run)
{
        struct body *b = &p->body;
        struct function *f = b->function;
        const struct statement *s = b->statement;
        struct insn *i;

        if (!run) {
                body_unsupported(p, "line %u: no such form of '%.*s'", s->line,
                                 (int)s->opcode.length, s->opcode.text);
                return NULL;
        }
        if (!parser_grow(p, &f->code, &b->code_capacity, f->code_count, sizeof *f->code))
                return NULL;
        i = &f->code[f->code_count++];
        *i = (struct insn){ .run = run, .guard = NO_SLOT, .line = s->line };
        if (s->has_guard) {
                i->guard = s->guard.offset;
                i->is_guard_negated = s->is_guard_negated;
        }
        return i;
}

void *body_own(struct parser *p, size_t bytes)
{
        struct body *b = &p->body;
        struct function *f = b->function;
        void *buffer;

        if (!parser_grow(p, &f->owned, &b->owned_capacity, f->owned_count, sizeof *f->owned))
                return NULL;
        buffer = calloc(1, bytes);
        if (!buffer)
                return parser_no_memory(p), NULL;
        f->owned[f->owned_count++] = buffer;
        return buffer;
}

bool body_register(struct parser *p, unsigned width, struct slot *ret)
{
        struct function *f = p->body.function;
        uint32_t bytes = width ? width * LANES : 4, align = width ? 64 : 4;

        f->frame_bytes = (f->frame_bytes + align - 1) & ~(align - 1);
        if (f->frame_bytes + bytes > FRAME_LIMIT)
                return parser_fail(p, "too many registers"), false;
        *ret = (struct slot){ f->frame_bytes, 0, (uint8_t)width };
        f->frame_bytes += bytes;
        f->register_bytes += width ? width : 1;
        return true;
}

static void row_fill(unsigned char *at, uint64_t bits, unsigned width)
{
        for (unsigned lane = 0; lane < LANES; lane++)
                memcpy(at + lane * width, &bits, width > 8 ? 8 : width);
}

bool body_constant(struct parser *p, uint64_t bits, unsigned width, struct slot *ret)
{
        struct body *b = &p->body;
        struct function *f = b->function;
        uint32_t at = (f->constants_bytes + 63) & ~63u, bytes = width * LANES;
        uint32_t capacity = b->constants_capacity;

        if (!width)
                return body_unsupported(p, "line %u: a constant predicate", b->statement->line);
        if (width < 8)
                bits &= (UINT64_C(1) << 8 * width) - 1;
        /* Most repeats are near: search the last few rows of this width. */
        for (uint32_t k = 0; k < b->recent_count && k < 16; k++) {
                const struct recent_constant *r = &b->recent[k];

                if (r->bits == bits && r->slot.width == width) {
                        *ret = r->slot;
                        return true;
                }
        }
        while (capacity < at + bytes)
                capacity = capacity ? capacity * 2 : 4096;
        if (capacity > FRAME_LIMIT * 4)
                return parser_fail(p, "too many constants"), false;
        if (capacity != b->constants_capacity) {
                unsigned char *moved = aligned_alloc(64, capacity);

                if (!moved)
                        return parser_no_memory(p), false;
                memset(moved, 0, capacity);
                if (f->constants)
                        memcpy(moved, f->constants, f->constants_bytes);
                free(f->constants);
                f->constants = moved;
                b->constants_capacity = capacity;
        }
        row_fill(f->constants + at, bits, width);
        f->constants_bytes = at + bytes;
        *ret = (struct slot){ at, 1, (uint8_t)width };
        b->recent[b->recent_next++ % 16] = (struct recent_constant){ bits, *ret };
        if (b->recent_count < 16)
                b->recent_count++;
        return true;
}

static uint64_t float_bits(const struct operand *o, enum type type)
{
        double wide;
        float single;
        uint32_t narrow = (uint32_t)o->bits;
        uint64_t bits;

        if (o->is_single) {
                memcpy(&single, &narrow, sizeof single);
                wide = (double)single;
        } else {
                memcpy(&wide, &o->bits, sizeof wide);
                single = (float)wide;
                memcpy(&narrow, &single, sizeof single);
        }
        switch (type) {
        case TYPE_F64:
                memcpy(&bits, &wide, sizeof bits);
                return bits;
        case TYPE_F16:
                return half_from_double(wide, ROUND_NEAREST);
        case TYPE_BF16:
                return bhalf_from_float(single, ROUND_NEAREST);
        case TYPE_F32:
        case TYPE_TF32:
                return narrow;
        default:
                return o->bits;
        }
}

static bool body_use_shared(struct parser *p, uint32_t variable)
{
        struct body *b = &p->body;
        struct function *f = b->function;

        for (uint32_t i = 0; i < f->shared_count; i++)
                if (f->shared[i] == variable)
                        return true;
        if (!parser_grow(p, &f->shared, &b->shared_capacity, f->shared_count, sizeof *f->shared))
                return false;
        f->shared[f->shared_count++] = variable;
        return true;
}

/* A register that holds what the symbol's address or the special register is now. */
static bool materialise(struct parser *p, const struct operand *o, unsigned width, struct slot *ret)
{
        bool is_special = o->kind == OPERAND_SPECIAL;
        const struct symbol *symbol = is_special ? NULL : &p->symbols.list[o->symbol];
        struct insn *i;

        if (width != 4 && width != 8 && !(is_special && width == 2))
                return body_unsupported(p, "line %u: an address of %u bytes",
                                        p->body.statement->line, width);
        if (symbol && symbol->kind == SYMBOL_TARGETS)
                return body_unsupported(p, "line %u: a target list as a value",
                                        p->body.statement->line);
        if (!body_register(p, width, ret))
                return false;
        if (symbol && symbol->kind == SYMBOL_VARIABLE && !body_use_shared(p, symbol->index))
                return false;
        i = body_emit(p, is_special ? special_run : op_symbol);
        if (!i)
                return false;
        i->d = *ret;
        i->target = is_special                      ? o->symbol
                    : symbol->kind == SYMBOL_MEMORY ? symbol->offset
                                                    : symbol->index;
        if (symbol) {
                i->mode = (uint8_t)symbol->kind;
                i->is_flagged = symbol->is_kernel_param;
        }
        i->immediate = o->offset;
        return true;
}

bool body_source_any(struct parser *p, const struct operand *o, enum type type, struct slot *ret)
{
        unsigned width = type_width(type) == 1 ? 2 : type_width(type);

        switch (o->kind) {
        case OPERAND_REGISTER:
                *ret = o->slot;
                return true;
        case OPERAND_INTEGER:
                return body_constant(p, o->bits, width, ret);
        case OPERAND_FLOAT:
                return body_constant(p, float_bits(o, type), width, ret);
        case OPERAND_SYMBOL:
        case OPERAND_SPECIAL:
                return materialise(p, o, width, ret);
        default:
                return body_unsupported(p, "line %u: an operand of '%.*s'", p->body.statement->line,
                                        (int)p->body.statement->opcode.length,
                                        p->body.statement->opcode.text);
        }
}

bool body_source(struct parser *p, const struct operand *o, enum type type, struct slot *ret)
{
        unsigned width = type_width(type) == 1 ? 2 : type_width(type);

        if (!body_source_any(p, o, type, ret))
                return false;
        if (ret->width != width || o->is_negated || (type == TYPE_PRED) != (width == 0))
                return body_unsupported(p, "line %u: an operand's size differs from the type's",
                                        p->body.statement->line);
        return true;
}

bool body_destination(struct parser *p, const struct operand *o, enum type type, struct slot *ret)
{
        unsigned width = type_width(type) == 1 ? 2 : type_width(type);

        if (o->kind == OPERAND_SINK)
                return body_register(p, width, ret);
        if (o->kind != OPERAND_REGISTER || o->slot.width != width)
                return body_unsupported(p, "line %u: a destination of another size",
                                        p->body.statement->line);
        *ret = o->slot;
        return true;
}

bool body_predicate(struct parser *p, const struct operand *o, bool is_destination,
                    struct slot *ret)
{
        struct insn *i;

        if (is_destination && o->kind == OPERAND_SINK)
                return body_register(p, 0, ret);
        if (!is_destination && o->kind == OPERAND_INTEGER) {
                struct slot zero;

                if (!body_register(p, 0, &zero))
                        return false;
                i = body_emit(p, op_predicate_set);
                if (!i)
                        return false;
                i->d = zero;
                i->immediate = (o->bits != 0) != o->is_negated;
                *ret = zero;
                return true;
        }
        if (o->kind != OPERAND_REGISTER || o->slot.width != 0)
                return body_unsupported(p, "line %u: a predicate was expected",
                                        p->body.statement->line);
        if (is_destination || !o->is_negated) {
                *ret = o->slot;
                return true;
        }
        if (!body_register(p, 0, ret))
                return false;
        i = body_emit(p, op_predicate_not);
        if (!i)
                return false;
        i->d = *ret;
        i->a = o->slot;
        return true;
}

bool body_use_label(struct parser *p, struct slice name, uint32_t insn, uint32_t *table)
{
        struct body *b = &p->body;

        if (!parser_grow(p, &b->uses, &b->use_capacity, b->use_count, sizeof *b->uses))
                return false;
        b->uses[b->use_count++] =
                (struct label_use){ name, b->scope, insn, p->lexer.token.line, table };
        return true;
}

bool body_address(struct parser *p, const struct operand *o, struct slot *ret_base,
                  int64_t *ret_offset)
{
        const struct operand *base = o->elements;

        if (o->kind != OPERAND_ADDRESS || o->count != 1)
                return body_unsupported(p, "line %u: an address was expected",
                                        p->body.statement->line);
        *ret_offset = 0;
        if (base->kind == OPERAND_INTEGER || base->kind == OPERAND_SYMBOL)
                return body_source_any(p, base, TYPE_U64, ret_base);
        if (base->kind != OPERAND_REGISTER || (base->slot.width != 4 && base->slot.width != 8))
                return body_unsupported(p, "line %u: an address register of another size",
                                        p->body.statement->line);
        *ret_base = base->slot;
        *ret_offset = base->offset;
        return true;
}

bool statement_has(const struct statement *s, const char *suffix)
{
        for (unsigned i = 0; i < s->suffix_count; i++)
                if (slice_is(s->suffixes[i], suffix))
                        return true;
        return false;
}

enum type statement_type(const struct statement *s, unsigned n)
{
        for (unsigned i = 0; i < s->suffix_count; i++) {
                enum type type = type_find(s->suffixes[i].text, s->suffixes[i].length);

                if (type != TYPE_NONE && n-- == 0)
                        return type;
        }
        return TYPE_NONE;
}

enum rounding statement_rounding(const struct statement *s)
{
        if (statement_has(s, "rz") || statement_has(s, "rzi"))
                return ROUND_ZERO;
        if (statement_has(s, "rm") || statement_has(s, "rmi"))
                return ROUND_DOWN;
        if (statement_has(s, "rp") || statement_has(s, "rpi"))
                return ROUND_UP;
        if (statement_has(s, "rna"))
                return ROUND_AWAY;
        return ROUND_NEAREST;
}
