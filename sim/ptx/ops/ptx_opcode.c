/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the decoder of an opcode. */
#include "ptx_build.h"

static const struct opcode *const families[] = {
        opcodes_integer, opcodes_float,   opcodes_move,    opcodes_compare, opcodes_memory,
        opcodes_control, opcodes_bits,    opcodes_convert, opcodes_warp,    opcodes_atomic,
        opcodes_async,   opcodes_texture, opcodes_mma,     opcodes_wmma,    opcodes_mbarrier,
        opcodes_field,   opcodes_carry,   opcodes_barrier,
};

const struct opcode *opcode_find(struct slice name)
{
        for (unsigned f = 0; f < sizeof families / sizeof *families; f++)
                for (const struct opcode *o = families[f]; o->name; o++)
                        if (o->name[0] == name.text[0] && slice_is(name, o->name))
                                return o;
        return NULL;
}

void body_decode(struct parser *p, const struct statement *s)
{
        const struct opcode *opcode;

        if (!s->opcode.length)
                return;
        opcode = opcode_find(s->opcode);
        if (!opcode)
                body_unsupported(p, "line %u: instruction '%.*s'", s->line,
                                 (int)(s->opcode.length > 40 ? 40 : s->opcode.length),
                                 s->opcode.text);
        else if (!p->body.function->reason)
                opcode->decode(p, s, opcode);
}
