/* SPDX-License-Identifier: Apache-2.0 */
/* Moves: registers, vectors, addresses, cvta, isspacep, mapa. */
#include "ptx_ops.h"

UNARY(move_16, uint16_t, uint16_t, x)
UNARY(move_32, uint32_t, uint32_t, x)
UNARY(move_64, uint64_t, uint64_t, x)

static void move_128(struct warp *w, const struct insn *i)
{
        unsigned char *d = row(w, i->d);
        const unsigned char *a = row(w, i->a);

        LANEWISE(w, memmove(d + 16 * l, a + 16 * l, 16));
}

static void move_predicate(struct warp *w, const struct insn *i)
{
        predicate_put(w, i->d, predicate_get(w, i->a));
}

static handler *move_handler(unsigned width)
{
        switch (width) {
        case 0:
                return move_predicate;
        case 2:
                return move_16;
        case 4:
                return move_32;
        case 8:
                return move_64;
        case 16:
                return move_128;
        default:
                return NULL;
        }
}

/* The address of what a name stands for, in its own space. */
static uint64_t symbol_address(const struct warp *w, const struct insn *i)
{
        const struct ptx_kernel *kernel = w->block->run->kernel;
        const struct ptx_module *module = kernel->module;
        const struct variable *v;

        switch ((enum symbol_kind)i->mode) {
        case SYMBOL_MEMORY:
                return i->is_flagged ? i->target : w->frame->memory_base + i->target;
        case SYMBOL_FUNCTION:
                return WINDOW_FUNCTION + 16ull * module->functions[i->target].definition;
        case SYMBOL_VARIABLE:
                v = &module->variables[module->variables[i->target].definition];
                if (v->space != VARIABLE_SHARED)
                        return v->address;
                for (uint32_t n = 0; n < kernel->shared_count; n++)
                        if (kernel->shared[n].variable == i->target)
                                return kernel->shared[n].offset;
                return 0;
        default:
                return 0;
        }
}

void op_symbol(struct warp *w, const struct insn *i)
{
        uint64_t address = symbol_address(w, i) + (uint64_t)i->immediate;
        uint32_t mask = w->exec;

        while (mask)
                lane_put(w, i->d, lane_next(&mask), address);
}

/* mov.b64 {lo, hi}, d   and   mov.b64 d, {lo, hi} */
static void unpack(struct warp *w, const struct insn *i)
{
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                unsigned char bytes[16];
                unsigned at = 0;

                memcpy(bytes, (unsigned char *)row(w, i->a) + i->a.width * l, i->a.width);
                for (unsigned n = 0; n < i->count; n++) {
                        uint64_t part = 0;
                        unsigned width = i->a.width / i->count;

                        memcpy(&part, bytes + at, width);
                        at += width;
                        if (i->list[n].width != UINT8_MAX)
                                lane_put(w, i->list[n], l, part);
                }
        }
}

static void pack(struct warp *w, const struct insn *i)
{
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                unsigned char bytes[16] = { 0 };
                unsigned width = i->d.width / i->count;

                for (unsigned n = 0; n < i->count; n++) {
                        uint64_t part = lane_get(w, i->list[n], l);

                        memcpy(bytes + n * width, &part, width);
                }
                memcpy((unsigned char *)row(w, i->d) + i->d.width * l, bytes, i->d.width);
        }
}

static bool vector_slots(struct parser *p, const struct operand *o, unsigned width, bool is_source,
                         struct slot **ret)
{
        struct slot *list = body_own(p, (o->count ? o->count : 1) * sizeof *list);
        enum type type = width == 2 ? TYPE_B16 : width == 4 ? TYPE_B32 : TYPE_B64;

        if (!list)
                return false;
        for (unsigned n = 0; n < o->count; n++) {
                if (o->elements[n].kind == OPERAND_SINK && !is_source)
                        list[n].width = UINT8_MAX;
                else if (width == 1) {
                        if (!is_source && o->elements[n].kind != OPERAND_REGISTER)
                                return body_unsupported(p, "a vector element is no register");
                        if (!body_source_any(p, &o->elements[n], TYPE_B16, &list[n]))
                                return false;
                } else if (is_source ? !body_source(p, &o->elements[n], type, &list[n])
                                     : !body_destination(p, &o->elements[n], type, &list[n]))
                        return false;
        }
        *ret = list;
        return true;
}

static bool decode_vector(struct parser *p, const struct statement *s, enum type type)
{
        bool is_pack = s->operands[1].kind == OPERAND_VECTOR;
        const struct operand *vector = &s->operands[is_pack ? 1 : 0];
        unsigned width = type_width(type);
        struct slot whole, *list = NULL;
        struct insn *i;

        if (!vector->count || vector->count > 8 || width % vector->count || width > 16 ||
            width / vector->count > 8)
                return body_unsupported(p, "line %u: a vector move of this form", s->line);
        if (!vector_slots(p, vector, width / vector->count, is_pack, &list))
                return false;
        if (!(is_pack ? body_destination(p, &s->operands[0], type, &whole)
                      : body_source(p, &s->operands[1], type, &whole)))
                return false;
        i = body_emit(p, is_pack ? pack : unpack);
        if (!i)
                return false;
        *(is_pack ? &i->d : &i->a) = whole;
        i->list = list;
        i->count = (uint8_t)vector->count;
        return true;
}

/* mov.v2.u32 {a, b}, {c, d}: element by element. */
static bool decode_elements(struct parser *p, const struct statement *s, enum type type)
{
        const struct operand *to = &s->operands[0], *from = &s->operands[1];
        struct slot sources[8], d;

        if (to->count != from->count || to->count > 8)
                return body_unsupported(p, "line %u: a vector move of this form", s->line);
        for (unsigned n = 0; n < to->count; n++) {
                struct slot source;
                struct insn *i;

                if (!body_source(p, &from->elements[n], type, &source) ||
                    !body_register(p, type_width(type), &sources[n]))
                        return false;
                i = body_emit(p, move_handler(source.width));
                if (!i)
                        return false;
                i->d = sources[n];
                i->a = source;
        }
        for (unsigned n = 0; n < to->count; n++) {
                struct insn *i;

                if (!body_destination(p, &to->elements[n], type, &d))
                        return false;
                i = body_emit(p, move_handler(d.width));
                if (!i)
                        return false;
                i->d = d;
                i->a = sources[n];
        }
        return true;
}

/* A special register or an address is written to the destination at once. */
static bool decode_direct(struct parser *p, const struct statement *s)
{
        struct function *f = p->body.function;
        struct slot d, value;

        if (s->operands[0].kind != OPERAND_REGISTER)
                return body_unsupported(p, "line %u: mov to no register", s->line);
        d = s->operands[0].slot;
        if (d.width == 0 || d.width > 8)
                return body_unsupported(p, "line %u: mov of this size", s->line);
        if (!body_source_any(p, &s->operands[1],
                             d.width == 2   ? TYPE_B16
                             : d.width == 4 ? TYPE_B32
                                            : TYPE_B64,
                             &value))
                return false;
        f->code[f->code_count - 1].d = d;
        return true;
}

static bool decode_mov(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);
        struct slot d, a;
        struct insn *i;

        (void)opcode;
        if (s->operand_count != 2 || type == TYPE_NONE)
                return body_unsupported(p, "line %u: mov of this form", s->line);
        if (s->operands[0].kind == OPERAND_VECTOR && s->operands[1].kind == OPERAND_VECTOR)
                return decode_elements(p, s, type);
        if (s->operands[0].kind == OPERAND_VECTOR || s->operands[1].kind == OPERAND_VECTOR)
                return decode_vector(p, s, type);
        if (s->operands[1].kind == OPERAND_SYMBOL || s->operands[1].kind == OPERAND_SPECIAL)
                return decode_direct(p, s);
        if (type == TYPE_PRED) {
                if (!body_predicate(p, &s->operands[1], false, &a) ||
                    !body_predicate(p, &s->operands[0], true, &d))
                        return false;
        } else if (!body_source(p, &s->operands[1], type, &a) ||
                   !body_destination(p, &s->operands[0], type, &d))
                return false;
        i = body_emit(p, move_handler(d.width));
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        return true;
}

/* Windows hold shared, local and parameter addresses; global and constant ones are generic. */
static uint64_t space_window(enum space space)
{
        return space == SPACE_SHARED  ? WINDOW_SHARED
               : space == SPACE_LOCAL ? WINDOW_LOCAL
               : space == SPACE_PARAM ? WINDOW_PARAM
                                      : 0;
}

static void cvta(struct warp *w, const struct insn *i)
{
        uint64_t window = space_window((enum space)i->space);
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                uint64_t address = lane_get(w, i->a, l);

                if (i->is_flagged) /* .to */
                        address = (address & WINDOW_MASK) == window ? address & ~WINDOW_MASK
                                                                    : address;
                else
                        address += window;
                lane_put(w, i->d, l, address);
        }
}

static void isspacep(struct warp *w, const struct insn *i)
{
        uint64_t window = space_window((enum space)i->space);
        uint32_t mask = w->exec, bits = 0;

        while (mask) {
                uint32_t l = lane_next(&mask);

                bits |= (uint32_t)((lane_get(w, i->a, l) & WINDOW_MASK) == window) << l;
        }
        predicate_put(w, i->d, bits);
}

enum space space_find(const struct statement *s)
{
        static const struct {
                const char *name;
                enum space space;
        } spaces[] = {
                { "global", SPACE_GLOBAL },
                { "const", SPACE_CONST },
                { "shared", SPACE_SHARED },
                { "shared::cta", SPACE_SHARED },
                { "shared::cluster", SPACE_SHARED },
                { "local", SPACE_LOCAL },
                { "param", SPACE_PARAM },
                { "param::entry", SPACE_PARAM },
                { "param::func", SPACE_PARAM },
        };

        for (unsigned n = 0; n < sizeof spaces / sizeof *spaces; n++)
                if (statement_has(s, spaces[n].name))
                        return spaces[n].space;
        return SPACE_GENERIC;
}

static bool decode_cvta(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0) == TYPE_U32 ? TYPE_U32 : TYPE_U64;
        enum space space = space_find(s);
        struct slot d, a;
        struct insn *i;

        if (s->operand_count != 2 || s->operands[0].kind != OPERAND_REGISTER)
                return body_unsupported(p, "line %u: %s", s->line, opcode->name);
        if (space == SPACE_PARAM && !p->body.function->is_kernel)
                space = SPACE_LOCAL; /* a function's parameters are in the thread's memory */
        d = s->operands[0].slot;
        if (!body_source_any(p, &s->operands[1], type, &a))
                return false;
        if (opcode->operands == 2 ? d.width != 0 : d.width != 4 && d.width != 8)
                return body_unsupported(p, "line %u: %s of this size", s->line, opcode->name);
        i = body_emit(p, opcode->operands == 2 ? isspacep : cvta);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->space = (uint8_t)space;
        i->is_flagged = statement_has(s, "to");
        return true;
}

/* A cluster is one block here (a launch of larger ones is refused): the only rank's shared memory is
 * one's own. */
static bool decode_mapa(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct slot d, a;
        struct insn *i;

        if (s->operand_count != 3 || s->operands[0].kind != OPERAND_REGISTER)
                return body_unsupported(p, "line %u: %s", s->line, opcode->name);
        p->body.function->uses_cluster = true;
        d = s->operands[0].slot;
        if (!body_source_any(p, &s->operands[1], statement_type(s, 0), &a))
                return false;
        i = body_emit(p, a.width == d.width ? move_handler(d.width) : NULL);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        return true;
}

const struct opcode opcodes_move[] = {
        { "mov", decode_mov, NULL, NULL, 2 },
        { "cvta", decode_cvta, NULL, NULL, 3 },
        { "isspacep", decode_cvta, NULL, NULL, 2 },
        { "mapa", decode_mapa, NULL, NULL, 3 },
        { NULL, NULL, NULL, NULL, 0 },
};
