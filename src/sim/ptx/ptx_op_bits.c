/* Bits: logic, shifts, fields, counts, permutations, carries, dot products. */
#include "ptx_ops.h"

#define BY_BITS(name)                                                                              \
        static handler *const name[TYPE_COUNT] = {                                                 \
                [TYPE_B16] = name##_16, [TYPE_B32] = name##_32, [TYPE_B64] = name##_64,            \
                [TYPE_U16] = name##_16, [TYPE_U32] = name##_32, [TYPE_U64] = name##_64,            \
                [TYPE_S16] = name##_16, [TYPE_S32] = name##_32, [TYPE_S64] = name##_64,            \
        }

#define LOGIC(n, T, S)                                                                             \
        BINARY(logic_and_##n, T, x &y)                                                             \
        BINARY(logic_or_##n, T, x | y)                                                             \
        BINARY(logic_xor_##n, T, x ^ y)                                                            \
        UNARY(logic_not_##n, T, T, ~x)                                                             \
        UNARY(cnot_##n, T, T, x == 0)                                                              \
        BINARY2(shift_left_##n, T, T, uint32_t, y >= n ? 0 : x << y)                               \
        BINARY2(shift_right_##n, T, T, uint32_t, y >= n ? 0 : x >> y)                              \
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

static handler *const logic_and[TYPE_COUNT] = { [TYPE_B16] = logic_and_16, [TYPE_B32] = logic_and_32,
                                                [TYPE_B64] = logic_and_64, [TYPE_PRED] = predicate_and };
static handler *const logic_or[TYPE_COUNT] = { [TYPE_B16] = logic_or_16, [TYPE_B32] = logic_or_32,
                                               [TYPE_B64] = logic_or_64, [TYPE_PRED] = predicate_or };
static handler *const logic_xor[TYPE_COUNT] = { [TYPE_B16] = logic_xor_16, [TYPE_B32] = logic_xor_32,
                                                [TYPE_B64] = logic_xor_64, [TYPE_PRED] = predicate_xor };
static handler *const logic_not[TYPE_COUNT] = { [TYPE_B16] = logic_not_16, [TYPE_B32] = logic_not_32,
                                                [TYPE_B64] = logic_not_64, [TYPE_PRED] = op_predicate_not };
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

static uint64_t field_get(uint64_t x, uint32_t start, uint32_t length, unsigned bits, bool is_signed)
{
        uint64_t sign, value;

        start &= 255;
        length &= 255;
        if (length == 0)
                return 0;
        sign = is_signed ? x >> (start + length - 1 < bits ? start + length - 1 : bits - 1) & 1 : 0;
        value = start < bits ? x >> start : 0;
        if (start < bits && bits - start < length && sign) /* the field leaves the register */
                value |= start ? ~UINT64_C(0) << (bits - start) : 0;
        else if (start >= bits && sign)
                value = ~UINT64_C(0);
        if (length < 64) {
                value &= (UINT64_C(1) << length) - 1;
                if (sign)
                        value |= ~UINT64_C(0) << length;
        }
        return value;
}

TERNARY2(bfe_32, uint32_t, uint32_t, uint32_t, uint32_t, field_get(x, y, z, 32, i->is_flagged))
TERNARY2(bfe_64, uint64_t, uint64_t, uint32_t, uint32_t, field_get(x, y, z, 64, i->is_flagged))

static uint64_t field_put(uint64_t from, uint64_t into, uint32_t start, uint32_t length)
{
        uint64_t mask;

        start &= 255;
        length &= 255;
        if (start >= 64 || length == 0)
                return into;
        mask = (length >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << length) - 1) << start;
        return (into & ~mask) | (from << start & mask);
}

static void bfi_32(struct warp *w, const struct insn *i)
{
        uint32_t *d = row(w, i->d);
        const uint32_t *a = row(w, i->a), *b = row(w, i->b), *c = row(w, i->c), *e = row(w, i->d2);

        LANEWISE(w, d[l] = (uint32_t)field_put(a[l], b[l], c[l], e[l]));
}

static void bfi_64(struct warp *w, const struct insn *i)
{
        uint64_t *d = row(w, i->d);
        const uint64_t *a = row(w, i->a), *b = row(w, i->b);
        const uint32_t *c = row(w, i->c), *e = row(w, i->d2);

        LANEWISE(w, d[l] = field_put(a[l], b[l], c[l], e[l]));
}

static uint32_t select_byte(uint64_t pool, uint32_t selector)
{
        uint32_t byte = (uint32_t)(pool >> 8 * (selector & 7)) & 0xff;

        return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}

enum { PERMUTE_PLAIN, PERMUTE_F4E, PERMUTE_B4E, PERMUTE_RC8, PERMUTE_ECL, PERMUTE_ECR,
       PERMUTE_RC16 };

static uint32_t permute(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
        uint64_t pool = (uint64_t)b << 32 | a;
        uint32_t result = 0, k = c & 3;

        for (uint32_t n = 0; n < 4; n++) {
                uint32_t selector;

                switch (mode) {
                case PERMUTE_F4E: selector = k + n; break;
                case PERMUTE_B4E: selector = (k - n) & 7; break;
                case PERMUTE_RC8: selector = k; break;
                case PERMUTE_ECL: selector = n > k ? n : k; break;
                case PERMUTE_ECR: selector = n < k ? n : k; break;
                case PERMUTE_RC16: selector = (k & 1) * 2 + (n & 1); break;
                default: selector = c >> 4 * n & 15;
                }
                result |= select_byte(pool, selector) << 8 * n;
        }
        return result;
}

TERNARY(prmt_32, uint32_t, permute(x, y, z, i->mode))

static uint32_t funnel(uint32_t low, uint32_t high, uint32_t count, bool is_left, bool is_clamping)
{
        uint64_t both = (uint64_t)high << 32 | low;

        count = is_clamping ? (count > 32 ? 32 : count) : count & 31;
        return is_left ? (uint32_t)(both << count >> 32) : (uint32_t)(both >> count);
}

/* A left shift by 32 must yield the low word, which the 64-bit shift gives as well. */
TERNARY(shf_32, uint32_t, funnel(x, y, z, i->mode & 1, i->mode >> 1))

static uint32_t lookup3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
        uint32_t result = 0;

        for (uint32_t n = 0; n < 8; n++)
                if (table >> n & 1)
                        result |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
        return result;
}

TERNARY(lop3_32, uint32_t, lookup3(x, y, z, (uint32_t)i->immediate))

/* bmsk: ones from a start, as many as said; beyond the word they are cut off, or all wraps. */
static uint32_t mask_make(uint32_t start, uint32_t length, bool is_clamping)
{
        start = is_clamping ? (start > 32 ? 32 : start) : start & 31;
        length = is_clamping ? (length > 32 ? 32 : length) : length & 31;
        return (uint32_t)(((UINT64_C(1) << length) - 1) << start);
}

BINARY(bmsk_32, uint32_t, mask_make(x, y, i->mode))

static uint32_t extend(uint32_t x, uint32_t bits, bool is_clamping, bool is_signed)
{
        bits = is_clamping ? (bits > 32 ? 32 : bits) : bits & 31;
        if (bits == 0)
                return 0;
        return is_signed ? (uint32_t)((int32_t)(x << (32 - bits)) >> (32 - bits))
                         : x << (32 - bits) >> (32 - bits);
}

BINARY(szext_32, uint32_t, extend(x, y, i->mode, i->is_flagged))

/* The nth set bit from base, upwards for a positive n, downwards for a negative one. */
static uint32_t find_nth(uint32_t mask, uint32_t base, int32_t n)
{
        int32_t at = (int32_t)(base & 31), step = n < 0 ? -1 : 1;

        if (n == 0)
                return mask >> at & 1 ? (uint32_t)at : UINT32_MAX;
        for (uint32_t left = n < 0 ? 0u - (uint32_t)n : (uint32_t)n; at >= 0 && at < 32; at += step)
                if (mask >> at & 1 && --left == 0)
                        return (uint32_t)at;
        return UINT32_MAX;
}

TERNARY(fns_32, uint32_t, find_nth(x, y, (int32_t)z))

/* mode: bit 0 a is signed, bit 1 b is signed, bit 2 dp2a, bit 3 its high half. */
static uint32_t dot(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
        bool is_pair = mode & 4;
        unsigned count = is_pair ? 2 : 4, from = mode & 8 ? 2 : 0;

        for (unsigned n = 0; n < count; n++) {
                uint32_t x = is_pair ? a >> 16 * n & 0xffff : a >> 8 * n & 0xff;
                uint32_t y = b >> 8 * (n + from) & 0xff;

                if (mode & 1)
                        x = is_pair ? (uint32_t)(int16_t)x : (uint32_t)(int8_t)x;
                if (mode & 2)
                        y = (uint32_t)(int8_t)y;
                c += x * y;
        }
        return c;
}

TERNARY(dot_32, uint32_t, dot(x, y, z, i->mode))

/* The carry flag is one bit per lane. mode bit 0: take it in, 1: give it out, 2: subtract. */
static uint64_t carry_step(struct warp *w, uint32_t l, uint64_t x, uint64_t y, unsigned bits,
                           unsigned mode)
{
        unsigned __int128 sum;
        uint64_t in = mode & 1 ? w->carry >> l & 1 : 0;
        bool out;

        if (mode & 4) {
                sum = (unsigned __int128)x - y - in;
                out = (sum >> 64) & 1;
        } else {
                sum = (unsigned __int128)x + y + in;
                out = sum >> bits & 1;
        }
        if (mode & 2)
                w->carry = (w->carry & ~(1u << l)) | (uint32_t)out << l;
        return (uint64_t)sum;
}

BINARY(carry_32, uint32_t, carry_step(w, l, x, y, 32, i->mode))
BINARY(carry_64, uint64_t, carry_step(w, l, x, y, 64, i->mode))

static uint64_t product_part(uint64_t x, uint64_t y, enum type type, bool is_high)
{
        unsigned bits = 8 * type_width(type);

        if (!is_high)
                return bits == 32 ? (uint32_t)x * (uint64_t)(uint32_t)y & UINT32_MAX : x * y;
        if (type == TYPE_S32)
                return (uint32_t)(((int64_t)(int32_t)x * (int32_t)y) >> 32);
        if (type == TYPE_S64)
                return (uint64_t)(((__int128)(int64_t)x * (int64_t)y) >> 64);
        return (uint64_t)(((unsigned __int128)x * y) >> bits);
}

TERNARY(mad_carry_32, uint32_t,
        carry_step(w, l, product_part(x, y, (enum type)i->type, i->is_flagged) & UINT32_MAX, z, 32, i->mode))
TERNARY(mad_carry_64, uint64_t,
        carry_step(w, l, product_part(x, y, (enum type)i->type, i->is_flagged), z, 64, i->mode))

bool decode_carry(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);
        static handler *const adds[TYPE_COUNT] = {
                [TYPE_U32] = carry_32, [TYPE_S32] = carry_32, [TYPE_B32] = carry_32,
                [TYPE_U64] = carry_64, [TYPE_S64] = carry_64, [TYPE_B64] = carry_64,
        };
        static handler *const mads[TYPE_COUNT] = {
                [TYPE_U32] = mad_carry_32, [TYPE_S32] = mad_carry_32,
                [TYPE_U64] = mad_carry_64, [TYPE_S64] = mad_carry_64,
        };
        struct opcode one = *opcode;
        struct insn *i;

        one.operands = opcode->name[0] == 'm' ? 4 : 3;
        one.by_type = one.operands == 4 ? mads : adds;
        if (!decode_uniform(p, s, &one))
                return false;
        i = &p->body.function->code[p->body.function->code_count - 1];
        i->type = (uint8_t)type;
        i->is_flagged = statement_has(s, "hi");
        i->mode = (uint8_t)((slice_is(s->opcode, "addc") || slice_is(s->opcode, "subc") ||
                             slice_is(s->opcode, "madc")) |
                            statement_has(s, "cc") << 1 | (s->opcode.text[0] == 's') << 2);
        return true;
}

/* Operands of mixed types: d and sources as the row's text says, b = the type, u = .u32. */
static bool decode_shaped(struct parser *p, const struct statement *s, handler *run,
                          const char *shape)
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

static struct insn *last(struct parser *p)
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
        last(p)->is_flagged = type_is_signed(statement_type(s, 0));
        last(p)->mode = statement_has(s, "shiftamt");
        return true;
}

static bool decode_bfe(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (!decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "bbuu"))
                return false;
        last(p)->is_flagged = type_is_signed(statement_type(s, 0));
        return true;
}

static bool decode_bfi(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        return decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "bbbuu");
}

static bool decode_prmt(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        static const char *const modes[] = { "f4e", "b4e", "rc8", "ecl", "ecr", "rc16" };

        if (!decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "bbbu"))
                return false;
        for (unsigned n = 0; n < 6; n++)
                if (statement_has(s, modes[n]))
                        last(p)->mode = (uint8_t)(n + 1);
        return true;
}

static bool decode_shf(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (!decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "bbbu"))
                return false;
        last(p)->mode = (uint8_t)(statement_has(s, "l") | statement_has(s, "clamp") << 1);
        return true;
}

static bool decode_lop3(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct slot d, a, b, c;
        struct insn *i;

        (void)opcode;
        if (s->operand_count != 5 || s->operands[4].kind != OPERAND_INTEGER)
                return body_unsupported(p, "line %u: lop3 with a predicate", s->line);
        if (!body_source(p, &s->operands[1], TYPE_B32, &a) ||
            !body_source(p, &s->operands[2], TYPE_B32, &b) ||
            !body_source(p, &s->operands[3], TYPE_B32, &c) ||
            !body_destination(p, &s->operands[0], TYPE_B32, &d))
                return false;
        i = body_emit(p, lop3_32);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->b = b;
        i->c = c;
        i->immediate = (int64_t)(s->operands[4].bits & 255);
        return true;
}

static bool decode_fns(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        (void)opcode;
        return decode_shaped(p, s, fns_32, "uuuu");
}

static bool decode_mask(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (!decode_shaped(p, s, opcode->operands == 2 ? szext_32 : bmsk_32, "uuu"))
                return false;
        last(p)->mode = statement_has(s, "clamp");
        last(p)->is_flagged = statement_type(s, 0) == TYPE_S32;
        return true;
}

static bool decode_dot(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        bool is_pair = opcode->operands == 2;

        if (!decode_shaped(p, s, dot_32, "uuuu"))
                return false;
        last(p)->mode = (uint8_t)((statement_type(s, 0) == TYPE_S32) |
                                  (statement_type(s, 1) == TYPE_S32) << 1 | is_pair << 2 |
                                  statement_has(s, "hi") << 3);
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

#define ONLY_32_64(name)                                                                           \
        static handler *const name[TYPE_COUNT] = {                                                 \
                [TYPE_B32] = name##_32, [TYPE_B64] = name##_64, [TYPE_U32] = name##_32,            \
                [TYPE_U64] = name##_64, [TYPE_S32] = name##_32, [TYPE_S64] = name##_64,            \
        }
ONLY_32_64(popc);
ONLY_32_64(clz);
ONLY_32_64(brev);
ONLY_32_64(bfind);
ONLY_32_64(bfe);
ONLY_32_64(bfi);
static handler *const prmt[TYPE_COUNT] = { [TYPE_B32] = prmt_32 };
static handler *const shf[TYPE_COUNT] = { [TYPE_B32] = shf_32 };

const struct opcode opcodes_bits[] = {
        { "and", decode_logic, logic_and, NULL, 3 },
        { "or", decode_logic, logic_or, NULL, 3 },
        { "xor", decode_logic, logic_xor, NULL, 3 },
        { "not", decode_logic, logic_not, NULL, 2 },
        { "cnot", decode_uniform, cnot, NULL, 2 },
        { "shl", decode_shift, shift_left, NULL, 3 },
        { "shr", decode_shift, shift_right, NULL, 3 },
        { "popc", decode_count, popc, NULL, 2 },
        { "clz", decode_count, clz, NULL, 2 },
        { "brev", decode_uniform, brev, NULL, 2 },
        { "bfind", decode_count, bfind, NULL, 2 },
        { "bfe", decode_bfe, bfe, NULL, 4 },
        { "bfi", decode_bfi, bfi, NULL, 5 },
        { "prmt", decode_prmt, prmt, NULL, 4 },
        { "shf", decode_shf, shf, NULL, 4 },
        { "lop3", decode_lop3, NULL, NULL, 5 },
        { "bmsk", decode_mask, NULL, NULL, 3 },
        { "szext", decode_mask, NULL, NULL, 2 },
        { "fns", decode_fns, NULL, NULL, 4 },
        { "dp4a", decode_dot, NULL, NULL, 4 },
        { "dp2a", decode_dot, NULL, NULL, 2 },
        { "addc", decode_carry, NULL, NULL, 3 },
        { "subc", decode_carry, NULL, NULL, 3 },
        { "madc", decode_carry, NULL, NULL, 4 },
        { NULL, NULL, NULL, NULL, 0 },
};
