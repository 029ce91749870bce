/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of module scope: declarations and initial bytes. */
#include <stdlib.h>
#include <string.h>

#include "ptx_build.h"

#define INITIAL_LIMIT (256u << 20)
#define NESTING_LIMIT 16

static bool is_power_of_two(int64_t value)
{
        return value > 0 && value <= 4096 && (value & (value - 1)) == 0;
}

static void skip_attribute(struct parser *p, bool *ret_is_managed)
{
        if (!parser_accept(p, "("))
                return;
        while (p->lexer.token.kind != TOKEN_END && !token_is(&p->lexer.token, ")")) {
                if (token_is_suffix(&p->lexer.token, "managed"))
                        *ret_is_managed = true;
                lexer_next(&p->lexer);
        }
        parser_accept(p, ")");
}

bool declaration_type(struct parser *p, struct declaration *ret)
{
        struct declaration d = { .align = 0 };
        bool is_managed = false;

        while (p->lexer.token.kind == TOKEN_SUFFIX) {
                struct token t = p->lexer.token;

                lexer_next(&p->lexer);
                if (token_is_suffix(&t, "align")) {
                        int64_t align = parser_constant(p);

                        if (!is_power_of_two(align))
                                return parser_fail(p, "alignment %lld is not a power of two",
                                                   (long long)align),
                                       false;
                        d.align = (uint32_t)align;
                } else if (token_is_suffix(&t, "v2"))
                        d.vector = 2;
                else if (token_is_suffix(&t, "v4"))
                        d.vector = 4;
                else if (token_is_suffix(&t, "attribute"))
                        skip_attribute(p, &is_managed);
                else if (type_find(t.text, t.length) != TYPE_NONE)
                        d.type = type_find(t.text, t.length);
                else if (token_is_suffix(&t, "ptr") || token_is_suffix(&t, "global") ||
                         token_is_suffix(&t, "const") || token_is_suffix(&t, "shared") ||
                         token_is_suffix(&t, "local"))
                        continue; /* what a pointer parameter points to changes nothing here */
                else if (token_is_suffix(&t, "texref") || token_is_suffix(&t, "samplerref") ||
                         token_is_suffix(&t, "surfref"))
                        d.type = TYPE_U64;
                else
                        return parser_fail(p, "unexpected '.%.*s' in a declaration", (int)t.length,
                                           t.text),
                               false;
        }
        if (d.type == TYPE_NONE)
                return parser_fail(p, "a declaration has no type"), false;
        d.is_unsized = is_managed; /* handed to variable_parse, which clears it */
        *ret = d;
        return true;
}

bool declaration_name(struct parser *p, struct declaration *d)
{
        unsigned width = type_width(d->type) * (d->vector ? d->vector : 1);
        uint64_t size = width;

        d->is_array = d->is_unsized = false;
        d->range = 0;
        if (p->lexer.token.kind != TOKEN_NAME)
                return parser_fail(p, "a declaration has no name"), false;
        d->name = (struct slice){ p->lexer.token.text, p->lexer.token.length };
        lexer_next(&p->lexer);
        if (parser_accept(p, "<")) {
                int64_t range = parser_constant(p);

                if (range < 0 || range > (int64_t)MODULE_LIMIT)
                        return parser_fail(p, "too many registers"), false;
                d->range = (uint32_t)range;
                return parser_expect(p, ">");
        }
        while (parser_accept(p, "[")) {
                d->is_array = true;
                if (parser_accept(p, "]")) {
                        d->is_unsized = true;
                        continue;
                }
                int64_t extent = parser_constant(p);

                if (extent < 0 || (extent && size > (UINT64_C(1) << 40) / (uint64_t)extent))
                        return parser_fail(p, "'%.*s' is too large", (int)d->name.length,
                                           d->name.text),
                               false;
                size *= (uint64_t)extent;
                if (!parser_expect(p, "]"))
                        return false;
        }
        d->size = d->is_unsized ? 0 : size;
        if (!d->align)
                d->align = width ? width : 1;
        return !p->failure;
}

struct initializer {
        struct variable *variable;
        uint64_t at;
        uint32_t relocation_capacity;
        uint64_t capacity;
        unsigned width;
        enum type type;
};

static bool initial_reserve(struct parser *p, struct initializer *in, uint64_t end)
{
        uint64_t capacity = in->capacity ? in->capacity : 64;
        unsigned char *bytes;

        if (end > INITIAL_LIMIT)
                return parser_fail(p, "too many initial values"), false;
        while (capacity < end)
                capacity *= 2;
        if (capacity != in->capacity) {
                bytes = realloc(in->variable->initial, capacity);
                if (!bytes)
                        return parser_no_memory(p), false;
                memset(bytes + in->capacity, 0, capacity - in->capacity);
                in->variable->initial = bytes;
                in->capacity = capacity;
        }
        if (in->variable->initial_bytes < end)
                in->variable->initial_bytes = end;
        return true;
}

static bool initial_put(struct parser *p, struct initializer *in, uint64_t bits)
{
        if (!initial_reserve(p, in, in->at + in->width))
                return false;
        memcpy(in->variable->initial + in->at, &bits, in->width);
        in->at += in->width;
        return true;
}

/* name, name+8, generic(name)+8, or such inside the byte mask 0xFF00(...). */
static bool initial_address(struct parser *p, struct initializer *in, unsigned shift)
{
        bool is_generic = token_is(&p->lexer.token, "generic");
        struct slice name = { p->lexer.token.text, p->lexer.token.length };
        struct relocation r = { .at = in->at,
                                .width = (uint8_t)in->width,
                                .shift = (uint8_t)shift };
        struct symbol *s;

        lexer_next(&p->lexer);
        if (is_generic) {
                if (!parser_expect(p, "("))
                        return false;
                name = (struct slice){ p->lexer.token.text, p->lexer.token.length };
                lexer_next(&p->lexer);
                if (!parser_expect(p, ")"))
                        return false;
        }
        s = symbol_find(p, name);
        if (!s || (s->kind != SYMBOL_VARIABLE && s->kind != SYMBOL_FUNCTION))
                return parser_fail(p, "'%.*s' is not a variable or function", (int)name.length,
                                   name.text),
                       false;
        r.symbol = s->index;
        r.is_function = s->kind == SYMBOL_FUNCTION;
        if (token_is(&p->lexer.token, "+") || token_is(&p->lexer.token, "-"))
                r.addend = parser_constant(p);
        if (!parser_grow(p, &in->variable->relocations, &in->relocation_capacity,
                         in->variable->relocation_count, sizeof r))
                return false;
        in->variable->relocations[in->variable->relocation_count++] = r;
        return initial_put(p, in, 0);
}

static bool initial_scalar(struct parser *p, struct initializer *in)
{
        struct token t = p->lexer.token;
        bool is_minus = token_is(&t, "-");
        uint64_t bits;

        if (t.kind == TOKEN_NAME)
                return initial_address(p, in, 0);
        if (is_minus) {
                lexer_next(&p->lexer);
                t = p->lexer.token;
        }
        if (t.kind != TOKEN_INTEGER && t.kind != TOKEN_FLOAT)
                return parser_fail(p, "unexpected '%.*s' among initial values", (int)t.length,
                                   t.text),
                       false;
        lexer_next(&p->lexer);
        bits = t.bits;
        if (t.kind == TOKEN_INTEGER && parser_accept(p, "(")) {
                unsigned shift = bits ? (unsigned)__builtin_ctzll(bits) & ~7u : 0;

                return initial_address(p, in, shift) && parser_expect(p, ")");
        }
        if (t.kind == TOKEN_FLOAT && in->type == TYPE_F32 && !t.is_single) {
                double wide;
                float single;

                memcpy(&wide, &bits, sizeof wide);
                single = (float)(is_minus ? -wide : wide);
                bits = 0;
                memcpy(&bits, &single, sizeof single);
        } else if (t.kind == TOKEN_FLOAT && is_minus)
                bits ^= UINT64_C(1) << (t.is_single ? 31 : 63);
        else if (is_minus)
                bits = -bits;
        return initial_put(p, in, bits);
}

/* { {1, 2}, {3} }: an inner group is padded to its share only where all are complete, which is how
 * compilers write them. */
static bool initial_group(struct parser *p, struct initializer *in, int depth)
{
        if (!parser_accept(p, "{"))
                return initial_scalar(p, in);
        if (depth > NESTING_LIMIT)
                return parser_fail(p, "initial values are nested too deeply"), false;
        while (!token_is(&p->lexer.token, "}")) {
                if (!initial_group(p, in, depth + 1))
                        return false;
                if (!parser_accept(p, ","))
                        break;
        }
        return parser_expect(p, "}");
}

static bool initial_parse(struct parser *p, struct variable *v, const struct declaration *d)
{
        struct initializer in = { .variable = v, .width = type_width(d->type), .type = d->type };

        if (!in.width)
                return parser_fail(p, "a predicate cannot have an initial value"), false;
        if (v->view.kind != PTX_VARIABLE_PLAIN) { /* { channel_data_type = … } says nothing here */
                while (p->lexer.token.kind != TOKEN_END && !token_is(&p->lexer.token, ";"))
                        lexer_next(&p->lexer);
                return true;
        }
        if (!initial_group(p, &in, 0))
                return false;
        if (d->is_unsized)
                v->view.size = v->initial_bytes;
        if (v->initial_bytes > v->view.size)
                return parser_fail(p, "'%s' has more initial values than elements", v->view.name),
                       false;
        return true;
}

static enum ptx_variable_kind reference_kind(const struct token *t)
{
        if (token_is_suffix(t, "texref"))
                return PTX_VARIABLE_TEXTURE;
        if (token_is_suffix(t, "surfref"))
                return PTX_VARIABLE_SURFACE;
        if (token_is_suffix(t, "samplerref"))
                return PTX_VARIABLE_SAMPLER;
        return PTX_VARIABLE_PLAIN;
}

static struct variable *variable_add(struct parser *p, const struct declaration *d,
                                     enum variable_space space, struct linkage linkage)
{
        struct ptx_module *m = p->module;
        struct symbol *s;
        struct variable *v;

        if (m->variable_count >= MODULE_LIMIT)
                return parser_fail(p, "too many variables"), NULL;
        if (!parser_grow(p, &m->variables, &p->variable_capacity, m->variable_count, sizeof *v))
                return NULL;
        v = &m->variables[m->variable_count];
        *v = (struct variable){ .space = space,
                                .unit = p->unit,
                                .is_extern = linkage.is_extern,
                                .is_weak = linkage.is_weak || linkage.is_common,
                                .definition = m->variable_count };
        v->view = (struct ptx_variable){ .name = slice_copy(d->name),
                                         .size = d->size,
                                         .align = d->align,
                                         .is_const = space == VARIABLE_CONST,
                                         .is_managed = linkage.is_managed,
                                         .is_visible = linkage.is_visible || linkage.is_weak ||
                                                       linkage.is_common || linkage.is_extern };
        if (!v->view.name)
                return parser_no_memory(p), NULL;
        m->variable_count++;
        s = symbol_add(p, d->name);
        if (!s)
                return NULL;
        s->kind = SYMBOL_VARIABLE;
        s->index = m->variable_count - 1;
        s->size = (uint32_t)(d->size > UINT32_MAX ? UINT32_MAX : d->size);
        return v;
}

void variable_parse(struct parser *p, const char *space, struct linkage linkage)
{
        enum variable_space where = strcmp(space, "shared") == 0  ? VARIABLE_SHARED
                                    : strcmp(space, "const") == 0 ? VARIABLE_CONST
                                                                  : VARIABLE_GLOBAL;
        enum ptx_variable_kind kind = reference_kind(&p->lexer.token);
        struct declaration d;

        if (parser_accept(p, "[")) { /* the bank of .const[2] */
                parser_constant(p);
                if (!parser_expect(p, "]"))
                        return;
        }
        if (strcmp(space, "tex") == 0)
                kind = PTX_VARIABLE_TEXTURE;
        if (!declaration_type(p, &d))
                return;
        linkage.is_managed = d.is_unsized;
        do {
                struct declaration one = d;
                struct variable *v;

                if (!declaration_name(p, &one))
                        return;
                if (one.range)
                        return (void)parser_fail(p, "a variable cannot be a register range");
                v = variable_add(p, &one, where, linkage);
                if (!v)
                        return;
                v->view.kind = kind;
                v->is_extern = v->is_extern || (one.is_unsized && where == VARIABLE_SHARED);
                if (parser_accept(p, "=") && !initial_parse(p, v, &one))
                        return;
        } while (parser_accept(p, ","));
        parser_expect(p, ";");
}
