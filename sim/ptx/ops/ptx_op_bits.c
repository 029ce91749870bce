/* SPDX-License-Identifier: Apache-2.0 */
/* Bits: logic, shifts, counts. */
#include "ptx_ops.h"

#define BY_BITS(name)                                                                   \
        static handler *const name[TYPE_COUNT] = {                                      \
                [TYPE_B16] = name##_16, [TYPE_B32] = name##_32, [TYPE_B64] = name##_64, \
                [TYPE_U16] = name##_16, [TYPE_U32] = name##_32, [TYPE_U64] = name##_64, \
                [TYPE_S16] = name##_16, [TYPE_S32] = name##_32, [TYPE_S64] = name##_64, \
        }

#define LOGIC(n, T, S)                                                \
        BINARY(logic_and_##n, T, x &y)                                \
        BINARY(logic_or_##n, T, x | y)                                \
        BINARY(logic_xor_##n, T, x ^ y)                               \
        UNARY(logic_not_##n, T, T, ~x)                                \
        UNARY(cnot_##n, T, T, x == 0)                                 \
        BINARY2(shift_left_##n, T, T, uint32_t, y >= n ? 0 : x << y)  \
        BINARY2(shift_right_##n, T, T, uint32_t, y >= n ? 0 : x >> y) \
        BINARY2(shift_arith_##n, S, S, uint32_t, x >> (y >= n ? n - 1 : y))

LOGIC(16, uint16_t, int16_t)
LOGIC(32, uint32_t, int32_t)
LOGIC(64, uint64_t, int64_t)

BY_BITS(cnot);
BY_BITS(shift_left);

static void predicate_and(struct warp *w, const struct insn *i)
{
        predicate_put(w, i->d, predicate_get(w, i->a) & predicate_get(w, i->b));
}

static void predicate_or(struct warp *w, const struct insn *i)
{
        predicate_put(w, i->d, predicate_get(w, i->a) | predicate_get(w, i->b));
}

static void predicate_xor(struct warp *w, const struct insn *i)
{
        predicate_put(w, i->d, predicate_get(w, i->a) ^ predicate_get(w, i->b));
}

void op_predicate_not(struct warp *w, const struct insn *i)
{
        predicate_put(w, i->d, ~predicate_get(w, i->a));
}

void op_predicate_set(struct warp *w, const struct insn *i)
{
        predicate_put(w, i->d, i->immediate ? ALL_LANES : 0);
}

static handler *const logic_and[TYPE_COUNT] = { [TYPE_B16] = logic_and_16,
                                                [TYPE_B32] = logic_and_32,
                                                [TYPE_B64] = logic_and_64,
                                                [TYPE_PRED] = predicate_and };
static handler *const logic_or[TYPE_COUNT] = { [TYPE_B16] = logic_or_16,
                                               [TYPE_B32] = logic_or_32,
                                               [TYPE_B64] = logic_or_64,
                                               [TYPE_PRED] = predicate_or };
static handler *const logic_xor[TYPE_COUNT] = { [TYPE_B16] = logic_xor_16,
                                                [TYPE_B32] = logic_xor_32,
                                                [TYPE_B64] = logic_xor_64,
                                                [TYPE_PRED] = predicate_xor };
static handler *const logic_not[TYPE_COUNT] = { [TYPE_B16] = logic_not_16,
                                                [TYPE_B32] = logic_not_32,
                                                [TYPE_B64] = logic_not_64,
                                                [TYPE_PRED] = op_predicate_not };
static handler *const shift_right[TYPE_COUNT] = {
        [TYPE_B16] = shift_right_16, [TYPE_B32] = shift_right_32, [TYPE_B64] = shift_right_64,
        [TYPE_U16] = shift_right_16, [TYPE_U32] = shift_right_32, [TYPE_U64] = shift_right_64,
        [TYPE_S16] = shift_arith_16, [TYPE_S32] = shift_arith_32, [TYPE_S64] = shift_arith_64,
};

static uint32_t reverse32(uint32_t x)
{
        x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
        x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
        x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
        return __builtin_bswap32(x);
}

static uint64_t reverse64(uint64_t x)
{
        return (uint64_t)reverse32((uint32_t)x) << 32 | reverse32((uint32_t)(x >> 32));
}

UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(x))
UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(x))
UNARY(clz_32, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)
UNARY(clz_64, uint32_t, uint64_t, x ? __builtin_clzll(x) : 64)
UNARY(brev_32, uint32_t, uint32_t, reverse32(x))
UNARY(brev_64, uint64_t, uint64_t, reverse64(x))

/* The highest bit that differs from the sign; shiftamt counts from the top instead. */
static uint32_t find_bit(uint64_t x, unsigned bits, bool is_signed, bool is_shift)
{
        uint32_t at;

        if (is_signed && x >> (bits - 1) & 1)
                x = ~x;
        if (bits == 32)
                x &= UINT32_MAX;
        if (!x)
                return UINT32_MAX;
        at = 63 - (uint32_t)__builtin_clzll(x);
        return is_shift ? bits - 1 - at : at;
}

UNARY(bfind_32, uint32_t, uint32_t, find_bit(x, 32, i->is_flagged, i->mode))
UNARY(bfind_64, uint32_t, uint64_t, find_bit(x, 64, i->is_flagged, i->mode))

/* Operands of mixed types: d and sources as the row's text says, b = the type, u = .u32. */
bool decode_shaped(struct parser *p, const struct statement *s, handler *run, const char *shape)
{
        enum type type = statement_type(s, 0);
        struct slot slots[5] = { { 0 } };
        struct insn *i;

        if (s->operand_count != strlen(shape))
                return body_unsupported(p, "line %u: '%.*s' with %u operands", s->line,
                                        (int)s->opcode.length, s->opcode.text, s->operand_count);
        for (unsigned n = 1; shape[n]; n++)
                if (!body_source(p, &s->operands[n], shape[n] == 'u' ? TYPE_U32 : type, &slots[n]))
                        return false;
        if (!body_destination(p, &s->operands[0], shape[0] == 'u' ? TYPE_U32 : type, &slots[0]))
                return false;
        i = body_emit(p, run);
        if (!i)
                return false;
        i->type = (uint8_t)type;
        i->d = slots[0];
        i->a = slots[1];
        i->b = slots[2];
        i->c = slots[3];
        i->d2 = slots[4];
        return true;
}

struct insn *body_last(struct parser *p)
{
        return &p->body.function->code[p->body.function->code_count - 1];
}

static bool decode_shift(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        return decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "bbu");
}

static bool decode_count(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (!decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "ub"))
                return false;
        body_last(p)->is_flagged = type_is_signed(statement_type(s, 0));
        body_last(p)->mode = statement_has(s, "shiftamt");
        return true;
}

/* Predicates may be negated here, which plain sources may not. */
static bool decode_logic(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct slot slots[3] = { { 0 } };
        struct insn *i;

        if (statement_type(s, 0) != TYPE_PRED)
                return decode_uniform(p, s, opcode);
        if (s->operand_count != opcode->operands)
                return body_unsupported(p, "line %u: %s.pred", s->line, opcode->name);
        for (unsigned n = 1; n < s->operand_count; n++)
                if (!body_predicate(p, &s->operands[n], false, &slots[n]))
                        return false;
        if (!body_predicate(p, &s->operands[0], true, &slots[0]))
                return false;
        i = body_emit(p, opcode->by_type[TYPE_PRED]);
        if (!i)
                return false;
        i->d = slots[0];
        i->a = slots[1];
        i->b = slots[2];
        return true;
}

#define ONLY_32_64(name)                                                                \
        static handler *const name[TYPE_COUNT] = {                                      \
                [TYPE_B32] = name##_32, [TYPE_B64] = name##_64, [TYPE_U32] = name##_32, \
                [TYPE_U64] = name##_64, [TYPE_S32] = name##_32, [TYPE_S64] = name##_64, \
        }
ONLY_32_64(popc);
ONLY_32_64(clz);
ONLY_32_64(brev);
ONLY_32_64(bfind);

const struct opcode opcodes_bits[] = {
        { "and", decode_logic, logic_and, NULL, 3 },   { "or", decode_logic, logic_or, NULL, 3 },
        { "xor", decode_logic, logic_xor, NULL, 3 },   { "not", decode_logic, logic_not, NULL, 2 },
        { "cnot", decode_uniform, cnot, NULL, 2 },     { "shl", decode_shift, shift_left, NULL, 3 },
        { "shr", decode_shift, shift_right, NULL, 3 }, { "popc", decode_count, popc, NULL, 2 },
        { "clz", decode_count, clz, NULL, 2 },         { "brev", decode_uniform, brev, NULL, 2 },
        { "bfind", decode_count, bfind, NULL, 2 },     { NULL, NULL, NULL, NULL, 0 },
};
