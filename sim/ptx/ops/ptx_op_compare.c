/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons and selections: setp, set, selp, slct. */
#include "ptx_half.h"
#include "ptx_ops.h"

#define COMPARE(name, T, ...)                                       \
        static uint32_t name(const void *first, const void *second) \
        {                                                           \
                const T *a = first, *b = second;                    \
                uint32_t bits = 0;                                  \
                for (uint32_t l = 0; l < LANES; l++) {              \
                        T x = a[l], y = b[l];                       \
                        bits |= (uint32_t)(__VA_ARGS__) << l;       \
                }                                                   \
                return bits;                                        \
        }

#define ORDERED(t, T)              \
        COMPARE(eq_##t, T, x == y) \
        COMPARE(ne_##t, T, x != y) \
        COMPARE(lt_##t, T, x < y)  \
        COMPARE(le_##t, T, x <= y) \
        COMPARE(gt_##t, T, x > y)  \
        COMPARE(ge_##t, T, x >= y)

/* ne of floats is false for a NaN, neu true. */
#define FLOATS(t, T)                           \
        COMPARE(eq_##t, T, x == y)             \
        COMPARE(ne_##t, T, x<y || x> y)        \
        COMPARE(lt_##t, T, x < y)              \
        COMPARE(le_##t, T, x <= y)             \
        COMPARE(gt_##t, T, x > y)              \
        COMPARE(ge_##t, T, x >= y)             \
        COMPARE(equ_##t, T, !(x < y || x > y)) \
        COMPARE(neu_##t, T, x != y)            \
        COMPARE(ltu_##t, T, !(x >= y))         \
        COMPARE(leu_##t, T, !(x > y))          \
        COMPARE(gtu_##t, T, !(x <= y))         \
        COMPARE(geu_##t, T, !(x < y))          \
        COMPARE(num_##t, T, x == x && y == y)  \
        COMPARE(nan_##t, T, x != x || y != y)

ORDERED(u16, uint16_t)
ORDERED(s16, int16_t)
ORDERED(u32, uint32_t)
ORDERED(s32, int32_t)
ORDERED(u64, uint64_t)
ORDERED(s64, int64_t)
FLOATS(f32, float)
FLOATS(f64, double)

enum comparison {
        CMP_EQ,
        CMP_NE,
        CMP_LT,
        CMP_LE,
        CMP_GT,
        CMP_GE,
        CMP_EQU,
        CMP_NEU,
        CMP_LTU,
        CMP_LEU,
        CMP_GTU,
        CMP_GEU,
        CMP_NUM,
        CMP_NAN,
        CMP_COUNT
};

#define INTEGERS(t)                                            \
        {                                                      \
                eq_##t, ne_##t, lt_##t, le_##t, gt_##t, ge_##t \
        }
#define BITWISE(t)             \
        {                      \
                eq_##t, ne_##t \
        }
#define FLOATING(t)                                                                        \
        {                                                                                  \
                eq_##t, ne_##t, lt_##t, le_##t, gt_##t, ge_##t, equ_##t, neu_##t, ltu_##t, \
                        leu_##t, gtu_##t, geu_##t, num_##t, nan_##t                        \
        }

static compare *const compares[TYPE_COUNT][CMP_COUNT] = {
        [TYPE_U16] = INTEGERS(u16),  [TYPE_S16] = INTEGERS(s16), [TYPE_B16] = BITWISE(u16),
        [TYPE_U32] = INTEGERS(u32),  [TYPE_S32] = INTEGERS(s32), [TYPE_B32] = BITWISE(u32),
        [TYPE_U64] = INTEGERS(u64),  [TYPE_S64] = INTEGERS(s64), [TYPE_B64] = BITWISE(u64),
        [TYPE_F32] = FLOATING(f32),  [TYPE_F64] = FLOATING(f64), [TYPE_F16] = FLOATING(f32),
        [TYPE_BF16] = FLOATING(f32), /* after widening */
};

static int comparison_find(const struct statement *s)
{
        static const char *const names[CMP_COUNT] = {
                "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
        };
        static const struct {
                const char *name;
                enum comparison is;
        } more[] = {
                { "lo", CMP_LT },
                { "ls", CMP_LE },
                { "hi", CMP_GT },
                { "hs", CMP_GE },
        };

        for (unsigned n = 0; n < CMP_COUNT; n++)
                if (statement_has(s, names[n]))
                        return (int)n;
        for (unsigned n = 0; n < 4; n++)
                if (statement_has(s, more[n].name))
                        return (int)more[n].is;
        return -1;
}

static void widen(struct warp *w, struct slot slot, const struct insn *i, float *ret)
{
        const uint16_t *bits = row(w, slot);

        for (uint32_t l = 0; l < LANES; l++)
                ret[l] = i->type == TYPE_BF16 ? bhalf_to_float(bits[l])
                                              : (float)half_to_double(bits[l]);
}

static uint32_t compare_run(struct warp *w, const struct insn *i)
{
        if (i->type == TYPE_F16 || i->type == TYPE_BF16) {
                float a[LANES], b[LANES];

                widen(w, i->a, i, a);
                widen(w, i->b, i, b);
                return i->compare(a, b);
        }
        return i->compare(row(w, i->a), row(w, i->b));
}

enum { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR };

static uint32_t combine(const struct warp *w, const struct insn *i, uint32_t bits)
{
        switch (i->mode) {
        case COMBINE_AND:
                return bits & predicate_get(w, i->c);
        case COMBINE_OR:
                return bits | predicate_get(w, i->c);
        case COMBINE_XOR:
                return bits ^ predicate_get(w, i->c);
        default:
                return bits;
        }
}

static void setp(struct warp *w, const struct insn *i)
{
        uint32_t bits = compare_run(w, i), second = combine(w, i, ~bits);

        predicate_put(w, i->d, combine(w, i, bits));
        if (i->is_flagged)
                predicate_put(w, i->d2, second);
}

static void set(struct warp *w, const struct insn *i)
{
        uint32_t bits = combine(w, i, compare_run(w, i)), mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);

                lane_put(w, i->d, l, bits >> l & 1 ? (uint64_t)i->immediate : 0);
        }
}

static bool compare_operands(struct parser *p, const struct statement *s, struct insn *ret,
                             enum type type)
{
        int comparison = comparison_find(s);

        if (s->operand_count < 3 || s->operand_count > 4 || comparison < 0 ||
            !compares[type][comparison])
                return body_unsupported(p, "line %u: a comparison of this form", s->line);
        ret->compare = compares[type][comparison];
        ret->type = (uint8_t)type;
        if (!body_source(p, &s->operands[1], type, &ret->a) ||
            !body_source(p, &s->operands[2], type, &ret->b))
                return false;
        if (s->operand_count == 3)
                return true;
        ret->mode = statement_has(s, "and")  ? COMBINE_AND
                    : statement_has(s, "or") ? COMBINE_OR
                                             : COMBINE_XOR;
        return body_predicate(p, &s->operands[3], false, &ret->c);
}

static bool compare_emit(struct parser *p, const struct insn *made, handler *run)
{
        struct insn *i = body_emit(p, run);

        if (!i)
                return false;
        i->compare = made->compare;
        i->type = made->type;
        i->mode = made->mode;
        i->a = made->a;
        i->b = made->b;
        i->c = made->c;
        i->d = made->d;
        i->d2 = made->d2;
        i->is_flagged = made->is_flagged;
        i->immediate = made->immediate;
        return true;
}

static bool decode_setp(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct insn made = { 0 };

        (void)opcode;
        if (!compare_operands(p, s, &made, statement_type(s, 0)) ||
            !body_predicate(p, &s->operands[0], true, &made.d))
                return false;
        made.is_flagged = s->operands[0].has_second;
        made.d2 = s->operands[0].second;
        return compare_emit(p, &made, setp);
}

static bool decode_set(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);
        struct insn made = { 0 };

        (void)opcode;
        if (!compare_operands(p, s, &made, statement_type(s, 1)) ||
            !body_destination(p, &s->operands[0], type, &made.d))
                return false;
        made.immediate = type == TYPE_F32 ? 0x3f800000 : type == TYPE_F16 ? 0x3c00 : -1;
        return compare_emit(p, &made, set);
}

#define SELECT(n, T)                                                                               \
        static void selp_##n(struct warp *w, const struct insn *i)                                 \
        {                                                                                          \
                T *d = row(w, i->d);                                                               \
                const T *a = row(w, i->a), *b = row(w, i->b);                                      \
                uint32_t choice = predicate_get(w, i->c);                                          \
                LANEWISE(w, d[l] = choice >> l & 1 ? a[l] : b[l]);                                 \
        }                                                                                          \
        static void slct_##n(struct warp *w, const struct insn *i)                                 \
        {                                                                                          \
                T *d = row(w, i->d);                                                               \
                const T *a = row(w, i->a), *b = row(w, i->b);                                      \
                const uint32_t *c = row(w, i->c);                                                  \
                LANEWISE(w, bool first = i->is_flagged ? (c[l] << 1 == 0 || c[l] >> 31 == 0) &&    \
                                                                 (c[l] & 0x7fffffff) <= 0x7f800000 \
                                                       : c[l] >> 31 == 0;                          \
                         d[l] = first ? a[l] : b[l]);                                              \
        }

SELECT(16, uint16_t)
SELECT(32, uint32_t)
SELECT(64, uint64_t)

static bool decode_select(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        static handler *const selps[9] = { [2] = selp_16, [4] = selp_32, [8] = selp_64 };
        static handler *const slcts[9] = { [2] = slct_16, [4] = slct_32, [8] = slct_64 };
        bool is_slct = opcode->operands == 5;
        enum type type = statement_type(s, 0);
        struct slot d, a, b, c;
        struct insn *i;

        if (s->operand_count != 4 || type_width(type) > 8)
                return body_unsupported(p, "line %u: %s", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], type, &a) ||
            !body_source(p, &s->operands[2], type, &b) ||
            !(is_slct ? body_source(p, &s->operands[3], TYPE_B32, &c)
                      : body_predicate(p, &s->operands[3], false, &c)) ||
            !body_destination(p, &s->operands[0], type, &d))
                return false;
        i = body_emit(p, (is_slct ? slcts : selps)[type_width(type)]);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->b = b;
        i->c = c;
        i->is_flagged = statement_type(s, 1) == TYPE_F32;
        return true;
}

const struct opcode opcodes_compare[] = {
        { "setp", decode_setp, NULL, NULL, 3 },
        { "set", decode_set, NULL, NULL, 3 },
        { "selp", decode_select, NULL, NULL, 4 },
        { "slct", decode_select, NULL, NULL, 5 },
        { NULL, NULL, NULL, NULL, 0 },
};
