/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic with the carry flag. */
#include "ptx_ops.h"

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
        carry_step(w, l, product_part(x, y, (enum type)i->type, i->is_flagged) & UINT32_MAX, z, 32,
                   i->mode))
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
                [TYPE_U32] = mad_carry_32,
                [TYPE_S32] = mad_carry_32,
                [TYPE_U64] = mad_carry_64,
                [TYPE_S64] = mad_carry_64,
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

const struct opcode opcodes_carry[] = {
        { "addc", decode_carry, NULL, NULL, 3 },
        { "subc", decode_carry, NULL, NULL, 3 },
        { "madc", decode_carry, NULL, NULL, 4 },
        { NULL, NULL, NULL, NULL, 0 },
};
