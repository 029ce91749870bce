/* SPDX-License-Identifier: Apache-2.0 */
/* f16, f16x2, bf16 and bf16x2 arithmetic: computed wide, rounded once. */
#include <math.h>

#include "ptx_half.h"
#include "ptx_ops.h"

enum half_op {
        HALF_ADD,
        HALF_SUB,
        HALF_MUL,
        HALF_FMA,
        HALF_MIN,
        HALF_MAX,
        HALF_ABS,
        HALF_NEG,
        HALF_TANH,
        HALF_EX2,
        HALF_COUNT,
};

static const struct {
        const char *name;
        unsigned operands;
} operations[HALF_COUNT] = {
        [HALF_ADD] = { "add", 3 }, [HALF_SUB] = { "sub", 3 }, [HALF_MUL] = { "mul", 3 },
        [HALF_FMA] = { "fma", 4 }, [HALF_MIN] = { "min", 3 }, [HALF_MAX] = { "max", 3 },
        [HALF_ABS] = { "abs", 2 }, [HALF_NEG] = { "neg", 2 }, [HALF_TANH] = { "tanh", 2 },
        [HALF_EX2] = { "ex2", 2 },
};

static double half_least(double x, double y, bool keeps_nan)
{
        if (isnan(x) || isnan(y))
                return keeps_nan || (isnan(x) && isnan(y)) ? (double)NAN : isnan(x) ? y : x;
        if (x == y)
                return signbit(x) ? x : y;
        return x < y ? x : y;
}

/* Products and sums of 16-bit floats are exact in a double up to the final rounding; a bf16 fma
 * whose terms are far apart is rounded by fma() itself. */
static double half_compute(const struct insn *i, double x, double y, double z)
{
        double value = 0;

        switch ((enum half_op)i->mode) {
        case HALF_ADD:
                value = x + y;
                break;
        case HALF_SUB:
                value = x - y;
                break;
        case HALF_MUL:
                value = x * y;
                break;
        case HALF_FMA:
                value = fma(x, y, z);
                break;
        case HALF_MIN:
                value = half_least(x, y, i->is_flagged);
                break;
        case HALF_MAX:
                value = -half_least(-x, -y, i->is_flagged);
                break;
        case HALF_ABS:
                value = fabs(x);
                break;
        case HALF_NEG:
                value = -x;
                break;
        case HALF_TANH:
                value = tanh(x);
                break;
        case HALF_EX2:
                value = exp2(x);
                break;
        case HALF_COUNT:
                break;
        }
        if (i->is_saturating)
                value = value > 0 ? (value < 1 ? value : 1) : 0;
        if (i->is_approximate && value < 0) /* .relu */
                value = 0;
        return value;
}

static double half_load(const struct insn *i, uint16_t bits)
{
        return i->from == TYPE_BF16 ? (double)bhalf_to_float(bits) : half_to_double(bits);
}

static uint16_t half_step(const struct insn *i, uint16_t x, uint16_t y, uint16_t z)
{
        double value;

        if (i->mode == HALF_NEG)
                return x ^ 0x8000;
        if (i->mode == HALF_ABS)
                return x & 0x7fff;
        value = half_compute(i, half_load(i, x), half_load(i, y), half_load(i, z));
        if (i->from == TYPE_BF16)
                return bhalf_from_float((float)value, ROUND_NEAREST);
        return half_from_double(value, ROUND_NEAREST);
}

static void half_one(struct warp *w, const struct insn *i)
{
        uint16_t *d = row(w, i->d);
        const uint16_t *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c);

        LANEWISE(w, d[l] = half_step(i, a[l], b[l], c[l]));
}

static void half_two(struct warp *w, const struct insn *i)
{
        uint32_t *d = row(w, i->d);
        const uint32_t *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c);

        LANEWISE(w, d[l] = half_step(i, (uint16_t)a[l], (uint16_t)b[l], (uint16_t)c[l]) |
                           (uint32_t)half_step(i, (uint16_t)(a[l] >> 16), (uint16_t)(b[l] >> 16),
                                               (uint16_t)(c[l] >> 16))
                                   << 16);
}

/* A sum or product of two halves is exact enough in a single: 24 digits are more than 2 × 11 + 1,
 * so rounding twice gives what rounding once gives. */
BINARY(half_add, uint16_t, half_from_float(half_to_float(x) + half_to_float(y)))
BINARY(half_mul, uint16_t, half_from_float(half_to_float(x) * half_to_float(y)))

static uint32_t pair_of(float low, float high)
{
        return half_from_float(low) | (uint32_t)half_from_float(high) << 16;
}

BINARY(half_add_two, uint32_t,
       pair_of(half_to_float((uint16_t)x) + half_to_float((uint16_t)y),
               half_to_float((uint16_t)(x >> 16)) + half_to_float((uint16_t)(y >> 16))))
BINARY(half_mul_two, uint32_t,
       pair_of(half_to_float((uint16_t)x) * half_to_float((uint16_t)y),
               half_to_float((uint16_t)(x >> 16)) * half_to_float((uint16_t)(y >> 16))))

static handler *half_handler(const struct statement *s, unsigned op, enum type type)
{
        bool is_plain = !statement_has(s, "sat") && !statement_has(s, "relu");

        if (is_plain && type == TYPE_F16 && (op == HALF_ADD || op == HALF_MUL))
                return op == HALF_ADD ? half_add : half_mul;
        if (is_plain && type == TYPE_F16X2 && (op == HALF_ADD || op == HALF_MUL))
                return op == HALF_ADD ? half_add_two : half_mul_two;
        return type_width(type) == 2 ? half_one : half_two;
}

static bool half_emit(struct parser *p, const struct statement *s, unsigned op)
{
        enum type type = statement_type(s, 0);
        struct slot slots[4] = { { 0 } };
        struct insn *i;

        if (s->operand_count != operations[op].operands || statement_has(s, "xorsign"))
                return body_unsupported(p, "line %u: %s with %u operands", s->line,
                                        operations[op].name, s->operand_count);
        for (unsigned k = 1; k < s->operand_count; k++)
                if (!body_source(p, &s->operands[k], type, &slots[k]))
                        return false;
        for (unsigned k = s->operand_count; k < 4; k++)
                slots[k] = slots[1];
        if (!body_destination(p, &s->operands[0], type, &slots[0]))
                return false;
        i = body_emit(p, half_handler(s, op, type));
        if (!i)
                return false;
        i->d = slots[0];
        i->a = slots[1];
        i->b = slots[2];
        i->c = slots[3];
        i->mode = (uint8_t)op;
        i->from = type == TYPE_BF16 || type == TYPE_BF16X2 ? TYPE_BF16 : TYPE_F16;
        i->is_saturating = statement_has(s, "sat");
        i->is_approximate = statement_has(s, "relu");
        i->is_flagged = statement_has(s, "NaN");
        return true;
}

bool decode_half(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        for (unsigned op = 0; op < HALF_COUNT; op++)
                if (slice_is(s->opcode, operations[op].name))
                        return half_emit(p, s, op);
        return body_unsupported(p, "line %u: %s of 16-bit floats", s->line, opcode->name);
}
