/* SPDX-License-Identifier: Apache-2.0 */
/* Single and double arithmetic. The plain forms have a tight handler each; rounding, flushing and
 * saturation share one careful handler per width. */
#include <fenv.h>
#include <math.h>

#include "ptx_ops.h"

enum float_op {
        FLOAT_ADD,
        FLOAT_SUB,
        FLOAT_MUL,
        FLOAT_FMA,
        FLOAT_DIV,
        FLOAT_MIN,
        FLOAT_MAX,
        FLOAT_ABS,
        FLOAT_NEG,
        FLOAT_SQRT,
        FLOAT_RCP,
        FLOAT_RSQRT,
        FLOAT_SIN,
        FLOAT_COS,
        FLOAT_LG2,
        FLOAT_EX2,
        FLOAT_TANH,
        FLOAT_NONE,
};

#define PLAIN(t, T, fma_call)           \
        BINARY(float_add_##t, T, x + y) \
        BINARY(float_sub_##t, T, x - y) \
        BINARY(float_mul_##t, T, x *y)  \
        BINARY(float_div_##t, T, x / y) \
        TERNARY(float_fma_##t, T, fma_call(x, y, z))

PLAIN(f32, float, fmaf)
PLAIN(f64, double, fma)

UNARY(float_abs_f32, uint32_t, uint32_t, x & 0x7fffffff)
UNARY(float_neg_f32, uint32_t, uint32_t, x ^ 0x80000000)
UNARY(float_abs_f64, uint64_t, uint64_t, x & ~(UINT64_C(1) << 63))
UNARY(float_neg_f64, uint64_t, uint64_t, x ^ UINT64_C(1) << 63)

/* .ftz: what is too small for a normal number is a zero of its sign, before and after. */
static inline float flushed(float x)
{
        uint32_t bits;

        memcpy(&bits, &x, sizeof bits);
        bits = bits & 0x7f800000 ? bits : bits & 0x80000000;
        memcpy(&x, &bits, sizeof bits);
        return x;
}

BINARY(flush_add, float, flushed(flushed(x) + flushed(y)))
BINARY(flush_sub, float, flushed(flushed(x) - flushed(y)))
BINARY(flush_mul, float, flushed(flushed(x) * flushed(y)))
BINARY(flush_div, float, flushed(flushed(x) / flushed(y)))

/* The lesser of two: a NaN only if both are, -0 before +0. */
static inline float lesser(float x, float y)
{
        uint32_t a, b;

        memcpy(&a, &x, sizeof a);
        memcpy(&b, &y, sizeof b);
        a |= b; /* of equal numbers only the sign can differ */
        if (x == y) {
                memcpy(&x, &a, sizeof a);
                return x;
        }
        return x < y || y != y ? x : y;
}

BINARY(min_f32, float, lesser(x, y))
BINARY(max_f32, float, -lesser(-x, -y))

#if defined(__x86_64__)
#define FMA_TARGET __attribute__((target("avx2,fma")))
static bool has_fma(void)
{
        return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
}
#else
#define FMA_TARGET
/* Every arm64 has the instruction; of others nothing is known. */
static bool has_fma(void)
{
#ifdef __aarch64__
        return true;
#else
        return false;
#endif
}
#endif

/* The same with the processor's own instruction instead of a call per lane. */
FMA_TARGET static void float_fma_fast_f32(struct warp *w, const struct insn *i)
{
        float *d = row(w, i->d);
        const float *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c);

        LANEWISE(w, d[l] = __builtin_fmaf(a[l], b[l], c[l]));
}

FMA_TARGET static void flush_fma_fast(struct warp *w, const struct insn *i)
{
        float *d = row(w, i->d);
        const float *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c);

        LANEWISE(w, d[l] = flushed(__builtin_fmaf(flushed(a[l]), flushed(b[l]), flushed(c[l]))));
}

FMA_TARGET static void float_fma_fast_f64(struct warp *w, const struct insn *i)
{
        double *d = row(w, i->d);
        const double *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c);

        LANEWISE(w, d[l] = __builtin_fma(a[l], b[l], c[l]));
}

static double least(double x, double y, bool keeps_nan)
{
        if (x != x || y != y)
                return keeps_nan || (x != x && y != y) ? (double)NAN : x != x ? y : x;
        if (x == y)
                return signbit(x) ? x : y; /* -0 is less than +0 */
        return x < y ? x : y;
}

static float flush(float x)
{
        return fpclassify(x) == FP_SUBNORMAL ? copysignf(0.0f, x) : x;
}

/* mode bits: the operation; is_flagged: .NaN */
__attribute__((noinline)) static double compute_wide(const struct insn *i, double x, double y,
                                                     double z)
{
        switch ((enum float_op)i->mode) {
        case FLOAT_ADD:
                return x + y;
        case FLOAT_SUB:
                return x - y;
        case FLOAT_MUL:
                return x * y;
        case FLOAT_FMA:
                return fma(x, y, z);
        case FLOAT_DIV:
                return x / y;
        case FLOAT_MIN:
                return least(x, y, i->is_flagged);
        case FLOAT_MAX:
                return -least(-x, -y, i->is_flagged);
        case FLOAT_ABS:
                return fabs(x);
        case FLOAT_NEG:
                return -x;
        case FLOAT_SQRT:
                return sqrt(x);
        case FLOAT_RCP:
                return 1.0 / x;
        case FLOAT_RSQRT:
                return 1.0 / sqrt(x);
        case FLOAT_SIN:
                return sin(x);
        case FLOAT_COS:
                return cos(x);
        case FLOAT_LG2:
                return log2(x);
        case FLOAT_EX2:
                return exp2(x);
        case FLOAT_TANH:
                return tanh(x);
        case FLOAT_NONE:
                break;
        }
        return 0.0;
}

/* Operations that must round once in single. */
__attribute__((noinline)) static float compute_single(const struct insn *i, float x, float y,
                                                      float z)
{
        switch ((enum float_op)i->mode) {
        case FLOAT_ADD:
                return x + y;
        case FLOAT_SUB:
                return x - y;
        case FLOAT_MUL:
                return x * y;
        case FLOAT_FMA:
                return fmaf(x, y, z);
        case FLOAT_DIV:
                return x / y;
        case FLOAT_SQRT:
                return sqrtf(x);
        case FLOAT_RCP:
                return 1.0f / x;
        case FLOAT_SIN:
                return sinf(x);
        case FLOAT_COS:
                return cosf(x);
        case FLOAT_LG2:
                return log2f(x);
        case FLOAT_EX2:
                return exp2f(x);
        case FLOAT_TANH:
                return tanhf(x);
        default:
                return (float)compute_wide(i, (double)x, (double)y, (double)z);
        }
}

static int rounding_enter(const struct insn *i)
{
        static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD,
                                     FE_TONEAREST };
        int before = fegetround();

        if (i->rounding != ROUND_NEAREST)
                fesetround(modes[i->rounding]);
        return before;
}

static void rounding_leave(const struct insn *i, int before)
{
        if (i->rounding != ROUND_NEAREST)
                fesetround(before);
}

static float careful_single(const struct insn *i, float x, float y, float z)
{
        float value;

        if (i->is_flushing) {
                x = flush(x);
                y = flush(y);
                z = flush(z);
        }
        value = compute_single(i, x, y, z);
        if (i->is_flushing)
                value = flush(value);
        if (i->is_saturating)
                value = value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
        return value;
}

static void careful_f32(struct warp *w, const struct insn *i)
{
        float *d = row(w, i->d);
        const float *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c);
        int before = rounding_enter(i);

        LANEWISE(w, d[l] = careful_single(i, a[l], b[l], c[l]));
        rounding_leave(i, before);
}

static void careful_f64(struct warp *w, const struct insn *i)
{
        double *d = row(w, i->d);
        const double *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c);
        int before = rounding_enter(i);

        LANEWISE(w, d[l] = compute_wide(i, a[l], b[l], c[l]));
        rounding_leave(i, before);
}

static const struct {
        const char *name;
        enum float_op op;
        unsigned operands;
        handler *single, *wide;
        handler *flushing; /* single with .ftz */
} operations[] = {
        { "add", FLOAT_ADD, 3, float_add_f32, float_add_f64, flush_add },
        { "sub", FLOAT_SUB, 3, float_sub_f32, float_sub_f64, flush_sub },
        { "mul", FLOAT_MUL, 3, float_mul_f32, float_mul_f64, flush_mul },
        { "mad", FLOAT_FMA, 4, float_fma_f32, float_fma_f64, NULL },
        { "fma", FLOAT_FMA, 4, float_fma_f32, float_fma_f64, NULL },
        { "div", FLOAT_DIV, 3, float_div_f32, float_div_f64, flush_div },
        { "abs", FLOAT_ABS, 2, float_abs_f32, float_abs_f64, NULL },
        { "neg", FLOAT_NEG, 2, float_neg_f32, float_neg_f64, NULL },
        { "min", FLOAT_MIN, 3, NULL, NULL, NULL },
        { "max", FLOAT_MAX, 3, NULL, NULL, NULL },
        { "sqrt", FLOAT_SQRT, 2, NULL, NULL, NULL },
        { "rcp", FLOAT_RCP, 2, NULL, NULL, NULL },
        { "rsqrt", FLOAT_RSQRT, 2, NULL, NULL, NULL },
        { "sin", FLOAT_SIN, 2, NULL, NULL, NULL },
        { "cos", FLOAT_COS, 2, NULL, NULL, NULL },
        { "lg2", FLOAT_LG2, 2, NULL, NULL, NULL },
        { "ex2", FLOAT_EX2, 2, NULL, NULL, NULL },
        { "tanh", FLOAT_TANH, 2, NULL, NULL, NULL },
};

static handler *float_handler(const struct statement *s, unsigned n, enum type type)
{
        handler *careful = type == TYPE_F32 ? careful_f32 : careful_f64;
        enum float_op op = operations[n].op;

        if (statement_has(s, "sat") || statement_has(s, "NaN") ||
            statement_rounding(s) != ROUND_NEAREST)
                return careful;
        if (statement_has(s, "ftz")) {
                if (op == FLOAT_FMA && has_fma())
                        return flush_fma_fast;
                return operations[n].flushing ? operations[n].flushing : careful;
        }
        if (op == FLOAT_FMA && has_fma())
                return type == TYPE_F32 ? float_fma_fast_f32 : float_fma_fast_f64;
        if (type == TYPE_F32 && (op == FLOAT_MIN || op == FLOAT_MAX))
                return op == FLOAT_MIN ? min_f32 : max_f32;
        if (!operations[n].single)
                return careful;
        return type == TYPE_F32 ? operations[n].single : operations[n].wide;
}

static bool float_emit(struct parser *p, const struct statement *s, unsigned n, enum type type)
{
        struct slot slots[4] = { { 0 } };
        struct insn *i;

        if (s->operand_count != operations[n].operands)
                return body_unsupported(p, "line %u: %s with %u operands", s->line,
                                        operations[n].name, s->operand_count);
        for (unsigned k = 1; k < s->operand_count; k++)
                if (!body_source(p, &s->operands[k], type, &slots[k]))
                        return false;
        for (unsigned k = s->operand_count; k < 4; k++)
                slots[k] = slots[1];
        if (!body_destination(p, &s->operands[0], type, &slots[0]))
                return false;
        i = body_emit(p, float_handler(s, n, type));
        if (!i)
                return false;
        i->d = slots[0];
        i->a = slots[1];
        i->b = slots[2];
        i->c = slots[3];
        i->mode = (uint8_t)operations[n].op;
        i->rounding = (uint8_t)statement_rounding(s);
        i->is_flushing = statement_has(s, "ftz");
        i->is_saturating = statement_has(s, "sat");
        i->is_flagged = statement_has(s, "NaN");
        return true;
}

bool decode_float(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);

        if (type == TYPE_F16 || type == TYPE_BF16 || type == TYPE_F16X2 || type == TYPE_BF16X2)
                return decode_half(p, s, opcode);
        if ((type != TYPE_F32 && type != TYPE_F64) || statement_has(s, "xorsign"))
                return body_unsupported(p, "line %u: %s of this type", s->line, opcode->name);
        for (unsigned n = 0; n < sizeof operations / sizeof *operations; n++)
                if (slice_is(s->opcode, operations[n].name))
                        return float_emit(p, s, n, type);
        return body_unsupported(p, "line %u: %s of floats", s->line, opcode->name);
}

BINARY(copysign_f32, uint32_t, (y & 0x7fffffff) | (x & 0x80000000))
BINARY(copysign_f64, uint64_t, (y & ~(UINT64_C(1) << 63)) | (x & UINT64_C(1) << 63))
static handler *const copysigns[TYPE_COUNT] = {
        [TYPE_F32] = copysign_f32, [TYPE_F64] = copysign_f64
};

enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NOTANUMBER, TEST_NORMAL, TEST_SUBNORMAL };

static bool float_test(double x, int class, unsigned mode)
{
        switch (mode) {
        case TEST_FINITE:
                return isfinite(x);
        case TEST_INFINITE:
                return isinf(x);
        case TEST_NUMBER:
                return !isnan(x);
        case TEST_NOTANUMBER:
                return isnan(x);
        case TEST_NORMAL:
                return class == FP_NORMAL;
        default:
                return class == FP_SUBNORMAL;
        }
}

static void testp(struct warp *w, const struct insn *i)
{
        const void *a = row(w, i->a);
        uint32_t mask = w->exec, bits = 0;

        while (mask) {
                uint32_t l = lane_next(&mask);
                double x = i->type == TYPE_F32 ? (double)((const float *)a)[l]
                                               : ((const double *)a)[l];
                int class = i->type == TYPE_F32 ? fpclassify(((const float *)a)[l]) : fpclassify(x);

                bits |= (uint32_t)float_test(x, class, i->mode) << l;
        }
        predicate_put(w, i->d, bits);
}

static bool decode_testp(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        static const char *const tests[] = { "finite",     "infinite", "number",
                                             "notanumber", "normal",   "subnormal" };
        enum type type = statement_type(s, 0);
        struct slot d, a;
        struct insn *i;

        if (s->operand_count != 2 || (type != TYPE_F32 && type != TYPE_F64))
                return body_unsupported(p, "line %u: %s", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], type, &a) ||
            !body_predicate(p, &s->operands[0], true, &d))
                return false;
        i = body_emit(p, testp);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->type = (uint8_t)type;
        for (unsigned n = 0; n < 6; n++)
                if (statement_has(s, tests[n]))
                        i->mode = (uint8_t)n;
        return true;
}

const struct opcode opcodes_float[] = {
        { "fma", decode_float, NULL, NULL, 4 },
        { "sqrt", decode_float, NULL, NULL, 2 },
        { "rcp", decode_float, NULL, NULL, 2 },
        { "rsqrt", decode_float, NULL, NULL, 2 },
        { "sin", decode_float, NULL, NULL, 2 },
        { "cos", decode_float, NULL, NULL, 2 },
        { "lg2", decode_float, NULL, NULL, 2 },
        { "ex2", decode_float, NULL, NULL, 2 },
        { "tanh", decode_float, NULL, NULL, 2 },
        { "copysign", decode_uniform, copysigns, NULL, 3 },
        { "testp", decode_testp, NULL, NULL, 2 },
        { NULL, NULL, NULL, NULL, 0 },
};
