/* SPDX-License-Identifier: Apache-2.0 */
/* cvt in all its forms: a value is read as the source type, rounded or clamped, and written. */
#include <math.h>

#include "ptx_half.h"
#include "ptx_ops.h"

/* The common ones, without a decision per lane. */
UNARY(u32_u64, uint64_t, uint32_t, x)
UNARY(s32_s64, int64_t, int32_t, x)
UNARY(u64_u32, uint32_t, uint64_t, x)
UNARY(u16_u32, uint32_t, uint16_t, x)
UNARY(s16_s32, int32_t, int16_t, x)
UNARY(u32_u16, uint16_t, uint32_t, x)
UNARY(s32_f32, float, int32_t, x)
UNARY(u32_f32, float, uint32_t, x)
UNARY(s32_f64, double, int32_t, x)
UNARY(u32_f64, double, uint32_t, x)
UNARY(f16_f32, float, uint16_t, half_to_float(x))
UNARY(f32_f16, uint16_t, float, half_from_float(x))
UNARY(bf16_f32, float, uint16_t, bhalf_to_float(x))
UNARY(f32_bf16, uint16_t, float, bhalf_from_float(x, ROUND_NEAREST))
UNARY(f32_f64, double, float, x)
UNARY(f64_f32, float, double, x)

static const struct {
        enum type to, from;
        handler *run;
} plain[] = {
        { TYPE_U64, TYPE_U32, u32_u64 },   { TYPE_S64, TYPE_U32, u32_u64 },
        { TYPE_S64, TYPE_S32, s32_s64 },   { TYPE_U64, TYPE_S32, s32_s64 },
        { TYPE_U32, TYPE_U64, u64_u32 },   { TYPE_S32, TYPE_U64, u64_u32 },
        { TYPE_U32, TYPE_S64, u64_u32 },   { TYPE_S32, TYPE_S64, u64_u32 },
        { TYPE_U32, TYPE_U16, u16_u32 },   { TYPE_S32, TYPE_U16, u16_u32 },
        { TYPE_S32, TYPE_S16, s16_s32 },   { TYPE_U32, TYPE_S16, s16_s32 },
        { TYPE_U16, TYPE_U32, u32_u16 },   { TYPE_S16, TYPE_S32, u32_u16 },
        { TYPE_U16, TYPE_S32, u32_u16 },   { TYPE_S16, TYPE_U32, u32_u16 },
        { TYPE_F32, TYPE_S32, s32_f32 },   { TYPE_F32, TYPE_U32, u32_f32 },
        { TYPE_F64, TYPE_S32, s32_f64 },   { TYPE_F64, TYPE_U32, u32_f64 },
        { TYPE_F32, TYPE_F16, f16_f32 },   { TYPE_F16, TYPE_F32, f32_f16 },
        { TYPE_F32, TYPE_BF16, bf16_f32 }, { TYPE_BF16, TYPE_F32, f32_bf16 },
        { TYPE_F64, TYPE_F32, f32_f64 },   { TYPE_F32, TYPE_F64, f64_f32 },
};

static double float_load(uint64_t bits, enum type type, bool is_flushing)
{
        float single;
        double wide;
        uint32_t narrow = (uint32_t)bits;

        switch (type) {
        case TYPE_F16:
                return half_to_double((uint16_t)bits);
        case TYPE_BF16:
                return (double)bhalf_to_float((uint16_t)bits);
        case TYPE_F64:
                memcpy(&wide, &bits, sizeof wide);
                return wide;
        default:
                memcpy(&single, &narrow, sizeof single);
                if (is_flushing && fpclassify(single) == FP_SUBNORMAL)
                        single = copysignf(0.0f, single);
                return (double)single;
        }
}

/* To a single with the given rounding; doubles hold every source exactly but 64-bit integers. */
static float single_round(double value, enum rounding rounding)
{
        float near = (float)value;

        if (rounding == ROUND_NEAREST || (double)near == value || isnan(value) || isinf(value))
                return near;
        if (isinf(near))
                return rounding == ROUND_ZERO || (rounding == ROUND_DOWN && value > 0) ||
                                       (rounding == ROUND_UP && value < 0)
                               ? nextafterf(near, 0.0f)
                               : near;
        switch (rounding) {
        case ROUND_UP:
                return (double)near < value ? nextafterf(near, INFINITY) : near;
        case ROUND_DOWN:
                return (double)near > value ? nextafterf(near, -INFINITY) : near;
        default:
                return fabs((double)near) > fabs(value) ? nextafterf(near, 0.0f) : near;
        }
}

static uint64_t float_store(double value, enum type type, const struct insn *i)
{
        enum rounding rounding = (enum rounding)i->rounding;
        uint64_t bits = 0;
        float single;

        if (i->is_saturating)
                value = value > 0 ? (value < 1 ? value : 1) : 0;
        if (i->is_approximate && value < 0) /* .relu */
                value = 0;
        switch (type) {
        case TYPE_F16:
                return half_from_double(value, rounding);
        case TYPE_BF16:
                return bhalf_from_float(single_round(value, rounding), rounding);
        case TYPE_F64:
                memcpy(&bits, &value, sizeof bits);
                return bits;
        case TYPE_TF32:
                single = (float)narrow_round(value, 10, -126, rounding);
                break;
        default:
                single = single_round(value, rounding);
                if (i->is_flushing && fpclassify(single) == FP_SUBNORMAL)
                        single = copysignf(0.0f, single);
        }
        memcpy(&bits, &single, sizeof single);
        return bits;
}

static double integer_round(double value, enum rounding rounding)
{
        switch (rounding) {
        case ROUND_ZERO:
                return trunc(value);
        case ROUND_DOWN:
                return floor(value);
        case ROUND_UP:
                return ceil(value);
        case ROUND_AWAY:
                return round(value);
        default:
                return nearbyint(value);
        }
}

/* Float to integer always clamps; a NaN gives 0 (64 bits: the most negative / all ones pattern). */
static uint64_t integer_from_float(double value, enum type to, enum rounding rounding)
{
        unsigned bits = 8 * type_width(to);
        double limit = ldexp(1, (int)bits - (type_is_signed(to) ? 1 : 0));

        if (isnan(value))
                return bits == 64 ? UINT64_C(1) << 63 : 0;
        value = integer_round(value, rounding);
        if (type_is_signed(to)) {
                if (value >= limit)
                        return (UINT64_C(1) << (bits - 1)) - 1;
                if (value < -limit)
                        return UINT64_C(1) << (bits - 1);
                return (uint64_t)(int64_t)value;
        }
        if (value <= 0)
                return 0;
        if (value >= limit)
                return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        return (uint64_t)value;
}

static uint64_t integer_load(uint64_t bits, enum type type)
{
        switch (type) {
        case TYPE_S8:
                return (uint64_t)(int8_t)bits;
        case TYPE_S16:
                return (uint64_t)(int16_t)bits;
        case TYPE_S32:
                return (uint64_t)(int32_t)bits;
        default:
                break;
        }
        return type_width(type) >= 8 ? bits : bits & ((UINT64_C(1) << 8 * type_width(type)) - 1);
}

static uint64_t integer_clamp(uint64_t value, enum type from, enum type to)
{
        unsigned bits = 8 * type_width(to);
        bool is_negative = type_is_signed(from) && (int64_t)value < 0;
        uint64_t most = type_is_signed(to) ? (UINT64_C(1) << (bits - 1)) - 1
                        : bits == 64       ? UINT64_MAX
                                           : (UINT64_C(1) << bits) - 1;

        if (!is_negative)
                return value > most ? most : value;
        if (!type_is_signed(to))
                return 0;
        return (int64_t)value < -(int64_t)most - 1 ? ~most : value;
}

/* 64-bit integers do not fit a double: round them to the target in one step. */
static uint64_t float_from_integer(uint64_t value, bool is_negative, const struct insn *i)
{
        uint64_t size = is_negative ? -value : value, kept = size;
        enum type to = (enum type)i->type;
        int digits = to == TYPE_F64 ? 53 : to == TYPE_F32 ? 24 : to == TYPE_BF16 ? 8 : 11;
        int length = size ? 64 - __builtin_clzll(size) : 0, drop = length - digits;
        enum rounding rounding = (enum rounding)i->rounding;
        double real;

        if (drop > 0) {
                uint64_t remainder = size & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1)
                                                                                << (drop - 1);
                bool is_up =
                        rounding == ROUND_NEAREST
                                ? remainder > half || (remainder == half && size >> drop & 1)
                                : remainder && rounding == (is_negative ? ROUND_DOWN : ROUND_UP);

                kept = (size >> drop) + is_up;
        } else
                drop = 0;
        real = ldexp((double)kept, drop);
        return float_store(is_negative ? -real : real, to, i);
}

static uint64_t convert_bits(uint64_t bits, const struct insn *i)
{
        enum type to = (enum type)i->type, from = (enum type)i->from;

        if (type_is_float(from)) {
                double value = float_load(bits, from, i->is_flushing);

                if (!type_is_float(to))
                        return integer_from_float(value, to, (enum rounding)i->rounding);
                if (i->is_flagged) /* .rni … : to a whole number, kept as a float */
                        value = copysign(integer_round(value, (enum rounding)i->rounding), value);
                return float_store(value, to, i);
        }
        bits = integer_load(bits, from);
        if (type_is_float(to))
                return float_from_integer(bits, type_is_signed(from) && (int64_t)bits < 0, i);
        bits = i->is_saturating ? integer_clamp(bits, from, to) : integer_load(bits, to);
        return bits;
}

static void convert(struct warp *w, const struct insn *i)
{
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);

                lane_put(w, i->d, l, convert_bits(lane_get(w, i->a, l), i));
        }
}

/* cvt.rn.f16x2.f32 d, high, low */
static void convert_pair(struct warp *w, const struct insn *i)
{
        enum type to = i->type == TYPE_F16X2 ? TYPE_F16 : TYPE_BF16;
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                double high = float_load(lane_get(w, i->a, l), TYPE_F32, false);
                double low = float_load(lane_get(w, i->b, l), TYPE_F32, false);

                lane_put(w, i->d, l, float_store(high, to, i) << 16 | float_store(low, to, i));
        }
}

/* Pairs of 8-bit floats. is_flagged: to bytes; mode: e5m2; from F32: two sources, else one pair. */
static void convert_bytes(struct warp *w, const struct insn *i)
{
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask), bits = (uint32_t)lane_get(w, i->a, l);
                double high, low;

                if (!i->is_flagged) {
                        high = byte_to_double((uint8_t)(bits >> 8), i->mode);
                        low = byte_to_double((uint8_t)bits, i->mode);
                        lane_put(w, i->d, l,
                                 float_store(high, TYPE_F16, i) << 16 |
                                         float_store(low, TYPE_F16, i));
                        continue;
                }
                high = i->from == TYPE_F32 ? float_load(bits, TYPE_F32, false)
                                           : half_to_double((uint16_t)(bits >> 16));
                low = i->from == TYPE_F32 ? float_load(lane_get(w, i->b, l), TYPE_F32, false)
                                          : half_to_double((uint16_t)bits);
                if (i->is_approximate) { /* .relu */
                        high = high < 0 ? 0 : high;
                        low = low < 0 ? 0 : low;
                }
                lane_put(w, i->d, l,
                         (uint32_t)byte_from_double(high, i->mode) << 8 |
                                 byte_from_double(low, i->mode));
        }
}

/* cvt.rn.f16x2.e4m3x2 d, a;  cvt.rn.satfinite.e4m3x2.f32 d, a, b;  … .f16x2 d, a; */
static bool decode_cvt_bytes(struct parser *p, const struct statement *s)
{
        enum type from = statement_type(s, 0);
        bool is_to = statement_has(s, "satfinite");
        struct slot d, a, b = { 0 };
        struct insn *i;

        if (s->operand_count != (is_to && from == TYPE_F32 ? 3u : 2u) ||
            (from != TYPE_F16X2 && !(is_to && from == TYPE_F32)))
                return body_unsupported(p, "line %u: cvt of this form", s->line);
        if (!body_source(p, &s->operands[1], !is_to ? TYPE_B16 : from, &a) ||
            (s->operand_count == 3 && !body_source(p, &s->operands[2], from, &b)) ||
            !body_destination(p, &s->operands[0], is_to ? TYPE_B16 : TYPE_B32, &d))
                return false;
        i = body_emit(p, convert_bytes);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->b = b;
        i->from = (uint8_t)from;
        i->mode = statement_has(s, "e5m2x2");
        i->is_flagged = is_to;
        i->is_approximate = statement_has(s, "relu");
        return true;
}

static handler *convert_choose(const struct insn *made)
{
        if (made->type == TYPE_F16X2 || made->type == TYPE_BF16X2)
                return convert_pair;
        if (made->is_saturating || made->is_flagged || made->is_flushing || made->is_approximate ||
            made->a.width != type_width((enum type)made->from) ||
            made->d.width != type_width((enum type)made->type))
                return convert;
        if (type_is_float((enum type)made->type) && made->rounding != ROUND_NEAREST)
                return convert;
        for (unsigned n = 0; n < sizeof plain / sizeof *plain; n++)
                if (plain[n].to == made->type && plain[n].from == made->from)
                        return plain[n].run;
        return convert;
}

static bool convert_is_known(enum type to, enum type from, const struct statement *s)
{
        bool is_pair = to == TYPE_F16X2 || to == TYPE_BF16X2;

        if (to == TYPE_NONE || from == TYPE_NONE || type_width(to) > 8 || type_width(from) > 8 ||
            to == TYPE_PRED || from == TYPE_PRED || from == TYPE_F16X2 || from == TYPE_BF16X2 ||
            statement_has(s, "rs"))
                return false;
        return is_pair ? from == TYPE_F32 && s->operand_count == 3 : s->operand_count == 2;
}

static bool decode_cvt(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type to = statement_type(s, 0), from = statement_type(s, 1);
        struct insn made = { .type = (uint8_t)to, .from = (uint8_t)from };
        struct insn *i;

        if (statement_has(s, "e4m3x2") || statement_has(s, "e5m2x2"))
                return decode_cvt_bytes(p, s);
        if (statement_has(s, "pack") || !convert_is_known(to, from, s))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!body_source_any(p, &s->operands[1], from, &made.a) ||
            (s->operand_count == 3 && !body_source(p, &s->operands[2], from, &made.b)))
                return false;
        if (s->operands[0].kind != OPERAND_REGISTER)
                return body_unsupported(p, "line %u: %s to no register", s->line, opcode->name);
        made.d = s->operands[0].slot;
        if (made.d.width < type_width(to) || made.a.width < type_width(from) || !made.d.width)
                return body_unsupported(p, "line %u: %s with a narrow register", s->line,
                                        opcode->name);
        made.rounding = (uint8_t)statement_rounding(s);
        made.is_saturating = statement_has(s, "sat");
        made.is_flushing = statement_has(s, "ftz");
        made.is_approximate = statement_has(s, "relu");
        made.is_flagged =
                type_is_float(to) && (statement_has(s, "rni") || statement_has(s, "rzi") ||
                                      statement_has(s, "rmi") || statement_has(s, "rpi"));
        i = body_emit(p, convert_choose(&made));
        if (!i)
                return false;
        made.run = i->run;
        made.guard = i->guard;
        made.is_guard_negated = i->is_guard_negated;
        made.line = i->line;
        *i = made;
        return true;
}

const struct opcode opcodes_convert[] = {
        { "cvt", decode_cvt, NULL, NULL, 2 },
        { NULL, NULL, NULL, NULL, 0 },
};
