/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic. */
#include <stdlib.h>

#include "ptx_ops.h"

#define EACH_TYPE(op, ...)                                        \
        op(u16, uint16_t, int16_t, uint32_t, int32_t, 16)         \
                op(u32, uint32_t, int32_t, uint64_t, int64_t, 32) \
                        op(u64, uint64_t, int64_t, unsigned __int128, __int128, 64)

#define BY_WIDTH(name)                                                                     \
        static handler *const name[TYPE_COUNT] = {                                         \
                [TYPE_U16] = name##_u16, [TYPE_S16] = name##_u16, [TYPE_B16] = name##_u16, \
                [TYPE_U32] = name##_u32, [TYPE_S32] = name##_u32, [TYPE_B32] = name##_u32, \
                [TYPE_U64] = name##_u64, [TYPE_S64] = name##_u64, [TYPE_B64] = name##_u64, \
        }

#define BY_SIGN(name)                                                                         \
        static handler *const name[TYPE_COUNT] = {                                            \
                [TYPE_U16] = name##_u16,  [TYPE_S16] = name##_su16, [TYPE_U32] = name##_u32,  \
                [TYPE_S32] = name##_su32, [TYPE_U64] = name##_u64,  [TYPE_S64] = name##_su64, \
        }

/* Division by zero gives all ones and the most negative by -1 itself, as hardware does. */
#define OPERATIONS(t, U, S, UU, SS, n)                                         \
        BINARY(int_add_##t, U, x + y)                                          \
        BINARY(int_sub_##t, U, x - y)                                          \
        BINARY(int_mul_##t, U, (UU)x *y)                                       \
        BINARY(mul_hi_##t, U, (UU)x *y >> n)                                   \
        BINARY(mul_hi_s##t, S, (SS)x *y >> n)                                  \
        TERNARY(int_mad_##t, U, (UU)x *y + z)                                  \
        TERNARY(mad_hi_##t, U, ((UU)x * y >> n) + z)                           \
        TERNARY(mad_hi_s##t, U, (U)((SS)(S)x * (S)y >> n) + z)                 \
        BINARY(int_div_##t, U, y ? x / y : (U)-1)                              \
        BINARY(int_div_s##t, S, y == 0 ? -1 : y == -1 ? (S)(0 - (U)x) : x / y) \
        BINARY(int_rem_##t, U, y ? x % y : x)                                  \
        BINARY(int_rem_s##t, S, y == 0 ? x : y == -1 ? 0 : x % y)              \
        BINARY(int_min_##t, U, x < y ? x : y)                                  \
        BINARY(int_min_s##t, S, x < y ? x : y)                                 \
        BINARY(int_max_##t, U, x > y ? x : y)                                  \
        BINARY(int_max_s##t, S, x > y ? x : y)                                 \
        UNARY(int_abs_##t, U, U, (S)x < 0 ? 0 - x : x)                         \
        UNARY(int_neg_##t, U, U, 0 - x)                                        \
        TERNARY(sad_##t, U, z + (x > y ? x - y : y - x))                       \
        TERNARY(sad_s##t, U, z + ((S)x > (S)y ? x - y : y - x))

EACH_TYPE(OPERATIONS)

BY_WIDTH(int_add);
BY_WIDTH(int_sub);
BY_WIDTH(int_mul);
BY_WIDTH(int_mad);
BY_WIDTH(int_abs);
BY_WIDTH(int_neg);
BY_SIGN(mul_hi);
BY_SIGN(mad_hi);
BY_SIGN(int_div);
BY_SIGN(int_rem);
BY_SIGN(int_min);
BY_SIGN(int_max);
BY_SIGN(sad);

BINARY2(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)x *y)
BINARY2(mul_wide_su16, int32_t, int16_t, int16_t, (int32_t)x *y)
BINARY2(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)x *y)
BINARY2(mul_wide_su32, int64_t, int32_t, int32_t, (int64_t)x *y)
TERNARY2(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)x *y + z)
TERNARY2(mad_wide_su16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)((int32_t)x *y) + z)
TERNARY2(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)x *y + z)
TERNARY2(mad_wide_su32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)x *y) + z)

static handler *const mul_wide[TYPE_COUNT] = {
        [TYPE_U16] = mul_wide_u16,
        [TYPE_S16] = mul_wide_su16,
        [TYPE_U32] = mul_wide_u32,
        [TYPE_S32] = mul_wide_su32,
};
static handler *const mad_wide[TYPE_COUNT] = {
        [TYPE_U16] = mad_wide_u16,
        [TYPE_S16] = mad_wide_su16,
        [TYPE_U32] = mad_wide_u32,
        [TYPE_S32] = mad_wide_su32,
};

static int64_t saturate32(int64_t value)
{
        return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
}

BINARY(add_sat, int32_t, saturate32((int64_t)x + y))
BINARY(sub_sat, int32_t, saturate32((int64_t)x - y))
TERNARY(mad_hi_sat, int32_t, saturate32(((int64_t)x * y >> 32) + z))

static uint32_t low24(uint32_t x)
{
        return x & 0xffffff;
}

static int32_t low24_signed(uint32_t x)
{
        return (int32_t)(x << 8) >> 8;
}

BINARY(mul24_lo_u, uint32_t, (uint64_t)low24(x) * low24(y))
BINARY(mul24_lo_s, uint32_t, (uint64_t)((int64_t)low24_signed(x) * low24_signed(y)))
BINARY(mul24_hi_u, uint32_t, (uint64_t)low24(x) * low24(y) >> 16)
BINARY(mul24_hi_s, uint32_t, (int64_t)low24_signed(x) * low24_signed(y) >> 16)

bool decode_uniform(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);
        struct slot slots[4] = { { 0 } };
        struct insn *i;

        if (s->operand_count != opcode->operands)
                return body_unsupported(p, "line %u: %s with %u operands", s->line, opcode->name,
                                        s->operand_count);
        for (unsigned n = 1; n < s->operand_count; n++)
                if (!body_source(p, &s->operands[n], type, &slots[n]))
                        return false;
        if (!body_destination(p, &s->operands[0], type, &slots[0]))
                return false;
        i = body_emit(p, opcode->by_type[type]);
        if (!i)
                return false;
        i->type = (uint8_t)type;
        i->d = slots[0];
        i->a = slots[1];
        i->b = slots[2];
        i->c = slots[3];
        return true;
}

/* add, sub, mul, mad have float and half forms, carries and saturation beside the plain one. */
static bool decode_arithmetic(struct parser *p, const struct statement *s,
                              const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);

        if (type_is_float(type))
                return decode_float(p, s, opcode);
        if (statement_has(s, "cc"))
                return decode_carry(p, s, opcode);
        if (statement_has(s, "sat")) {
                static handler *const adds[TYPE_COUNT] = { [TYPE_S32] = add_sat };
                static handler *const subs[TYPE_COUNT] = { [TYPE_S32] = sub_sat };
                struct opcode one = *opcode;

                one.by_type = opcode->name[0] == 'a' ? adds : subs;
                return decode_uniform(p, s, &one);
        }
        return decode_uniform(p, s, opcode);
}

static bool decode_wide(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);
        enum type twice = type_width(type) == 2 ? TYPE_U32 : TYPE_U64;
        handler *run = (opcode->operands == 4 ? mad_wide : mul_wide)[type];
        struct slot d, a, b, c = { 0 };
        struct insn *i;

        if (s->operand_count != opcode->operands)
                return body_unsupported(p, "line %u: %s.wide", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], type, &a) ||
            !body_source(p, &s->operands[2], type, &b) ||
            (opcode->operands == 4 && !body_source(p, &s->operands[3], twice, &c)) ||
            !body_destination(p, &s->operands[0], twice, &d))
                return false;
        i = body_emit(p, run);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->b = b;
        i->c = c;
        return true;
}

static bool decode_multiply(struct parser *p, const struct statement *s,
                            const struct opcode *opcode)
{
        struct opcode one = *opcode;

        if (statement_has(s, "wide"))
                return decode_wide(p, s, opcode);
        if (type_is_float(statement_type(s, 0)) || statement_has(s, "cc"))
                return decode_arithmetic(p, s, opcode);
        if (statement_has(s, "hi")) {
                static handler *const saturated[TYPE_COUNT] = { [TYPE_S32] = mad_hi_sat };

                one.by_type = statement_has(s, "sat") ? saturated : opcode->by_type2;
        }
        return decode_uniform(p, s, &one);
}

/* mul24 and mad24: the latter is the former and an addition. */
static bool decode_24(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        bool is_signed = statement_type(s, 0) == TYPE_S32, is_hi = statement_has(s, "hi");
        handler *run = is_hi ? (is_signed ? mul24_hi_s : mul24_hi_u)
                             : (is_signed ? mul24_lo_s : mul24_lo_u);
        struct slot d, a, b, c = { 0 }, product;
        struct insn *i;

        if (s->operand_count != opcode->operands)
                return body_unsupported(p, "line %u: %s", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], TYPE_U32, &a) ||
            !body_source(p, &s->operands[2], TYPE_U32, &b) ||
            (opcode->operands == 4 && !body_source(p, &s->operands[3], TYPE_U32, &c)) ||
            !body_destination(p, &s->operands[0], TYPE_U32, &d) || !body_register(p, 4, &product))
                return false;
        i = body_emit(p, run);
        if (!i)
                return false;
        i->d = opcode->operands == 4 ? product : d;
        i->a = a;
        i->b = b;
        if (opcode->operands == 3)
                return true;
        i = body_emit(p, statement_has(s, "sat") ? add_sat : int_add_u32);
        if (!i)
                return false;
        i->d = d;
        i->a = product;
        i->b = c;
        return true;
}

static bool decode_either(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (type_is_float(statement_type(s, 0)))
                return decode_float(p, s, opcode);
        return decode_uniform(p, s, opcode);
}

const struct opcode opcodes_integer[] = {
        { "add", decode_arithmetic, int_add, NULL, 3 },
        { "sub", decode_arithmetic, int_sub, NULL, 3 },
        { "mul", decode_multiply, int_mul, mul_hi, 3 },
        { "mad", decode_multiply, int_mad, mad_hi, 4 },
        { "mul24", decode_24, NULL, NULL, 3 },
        { "mad24", decode_24, NULL, NULL, 4 },
        { "div", decode_either, int_div, NULL, 3 },
        { "rem", decode_either, int_rem, NULL, 3 },
        { "min", decode_either, int_min, NULL, 3 },
        { "max", decode_either, int_max, NULL, 3 },
        { "abs", decode_either, int_abs, NULL, 2 },
        { "neg", decode_either, int_neg, NULL, 2 },
        { "sad", decode_uniform, sad, NULL, 4 },
        { NULL, NULL, NULL, NULL, 0 },
};
