/* SPDX-License-Identifier: Apache-2.0 */
/* Bit fields, permutations, tables, masks, dot products. */
#include "ptx_ops.h"

static uint64_t field_get(uint64_t x, uint32_t start, uint32_t length, unsigned bits,
                          bool is_signed)
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

enum {
        PERMUTE_PLAIN,
        PERMUTE_F4E,
        PERMUTE_B4E,
        PERMUTE_RC8,
        PERMUTE_ECL,
        PERMUTE_ECR,
        PERMUTE_RC16
};

static uint32_t permute(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
        uint64_t pool = (uint64_t)b << 32 | a;
        uint32_t result = 0, k = c & 3;

        for (uint32_t n = 0; n < 4; n++) {
                uint32_t selector;

                switch (mode) {
                case PERMUTE_F4E:
                        selector = k + n;
                        break;
                case PERMUTE_B4E:
                        selector = (k - n) & 7;
                        break;
                case PERMUTE_RC8:
                        selector = k;
                        break;
                case PERMUTE_ECL:
                        selector = n > k ? n : k;
                        break;
                case PERMUTE_ECR:
                        selector = n < k ? n : k;
                        break;
                case PERMUTE_RC16:
                        selector = (k & 1) * 2 + (n & 1);
                        break;
                default:
                        selector = c >> 4 * n & 15;
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

static bool decode_bfe(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (!decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "bbuu"))
                return false;
        body_last(p)->is_flagged = type_is_signed(statement_type(s, 0));
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
                        body_last(p)->mode = (uint8_t)(n + 1);
        return true;
}

static bool decode_shf(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (!decode_shaped(p, s, opcode->by_type[statement_type(s, 0)], "bbbu"))
                return false;
        body_last(p)->mode = (uint8_t)(statement_has(s, "l") | statement_has(s, "clamp") << 1);
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
        body_last(p)->mode = statement_has(s, "clamp");
        body_last(p)->is_flagged = statement_type(s, 0) == TYPE_S32;
        return true;
}

static bool decode_dot(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        bool is_pair = opcode->operands == 2;

        if (!decode_shaped(p, s, dot_32, "uuuu"))
                return false;
        body_last(p)->mode = (uint8_t)((statement_type(s, 0) == TYPE_S32) |
                                       (statement_type(s, 1) == TYPE_S32) << 1 | is_pair << 2 |
                                       statement_has(s, "hi") << 3);
        return true;
}

#define ONLY_32_64(name)                                                                \
        static handler *const name[TYPE_COUNT] = {                                      \
                [TYPE_B32] = name##_32, [TYPE_B64] = name##_64, [TYPE_U32] = name##_32, \
                [TYPE_U64] = name##_64, [TYPE_S32] = name##_32, [TYPE_S64] = name##_64, \
        }
ONLY_32_64(bfe);
ONLY_32_64(bfi);
static handler *const prmt[TYPE_COUNT] = { [TYPE_B32] = prmt_32 };
static handler *const shf[TYPE_COUNT] = { [TYPE_B32] = shf_32 };

const struct opcode opcodes_field[] = {
        { "bfe", decode_bfe, bfe, NULL, 4 },     { "bfi", decode_bfi, bfi, NULL, 5 },
        { "prmt", decode_prmt, prmt, NULL, 4 },  { "shf", decode_shf, shf, NULL, 4 },
        { "lop3", decode_lop3, NULL, NULL, 5 },  { "bmsk", decode_mask, NULL, NULL, 3 },
        { "szext", decode_mask, NULL, NULL, 2 }, { "fns", decode_fns, NULL, NULL, 4 },
        { "dp4a", decode_dot, NULL, NULL, 4 },   { "dp2a", decode_dot, NULL, NULL, 2 },
        { NULL, NULL, NULL, NULL, 0 },
};
