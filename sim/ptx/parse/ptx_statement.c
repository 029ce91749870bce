/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one instruction statement: guard, opcode, suffixes, operands. */
#include <string.h>

#include "ptx_build.h"

static bool operand_parse(struct parser *p, struct statement *s, struct operand *ret, int depth);

static struct slice token_slice(const struct token *t)
{
        return (struct slice){ t->text, t->length };
}

static bool unexpected(struct parser *p)
{
        const struct token *t = &p->lexer.token;

        return body_unsupported(p, "line %u: operands of this form ('%.*s')", t->line,
                                (int)(t->length > 20 ? 20 : t->length), t->text);
}

static struct operand *element_new(struct parser *p, struct statement *s)
{
        if (s->element_count == STATEMENT_ELEMENTS) {
                body_unsupported(p, "line %u: too many operands", s->line);
                return NULL;
        }
        s->elements[s->element_count] = (struct operand){ 0 };
        return &s->elements[s->element_count++];
}

/* The elements of a list lie side by side: nested ones are read before into the statement's buffer,
 * so a list is first read in order and its nested elements follow it. */
static bool elements_parse(struct parser *p, struct statement *s, struct operand *list,
                           const char *end, int depth)
{
        struct operand local[16];
        uint32_t count = 0;

        while (!token_is(&p->lexer.token, end)) {
                if (count == 16)
                        return body_unsupported(p, "line %u: too many operands", s->line);
                local[count] = (struct operand){ 0 };
                if (!operand_parse(p, s, &local[count], depth + 1))
                        return false;
                count++;
                if (!parser_accept(p, ","))
                        break;
        }
        if (!parser_accept(p, end))
                return unexpected(p);
        for (uint32_t i = 0; i < count; i++) {
                struct operand *e = element_new(p, s);

                if (!e)
                        return false;
                *e = local[i];
                if (i == 0)
                        list->elements = e;
        }
        list->count = count;
        return true;
}

static bool number_parse(struct parser *p, struct operand *o, bool is_minus)
{
        const struct token *t = &p->lexer.token;

        o->bits = t->bits;
        o->is_single = t->is_single;
        o->kind = t->kind == TOKEN_FLOAT ? OPERAND_FLOAT : OPERAND_INTEGER;
        if (is_minus && o->kind == OPERAND_INTEGER)
                o->bits = -o->bits;
        else if (is_minus)
                o->bits ^= UINT64_C(1) << (o->is_single ? 31 : 63);
        lexer_next(&p->lexer);
        if (o->kind == OPERAND_INTEGER &&
            (token_is(&p->lexer.token, "+") || token_is(&p->lexer.token, "-") ||
             token_is(&p->lexer.token, "*")))
                return unexpected(p);
        return true;
}

static bool component_apply(struct parser *p, struct operand *o, const struct symbol *symbol)
{
        const struct token *t = &p->lexer.token;
        static const char *const names[] = { "x", "y", "z", "w", "r", "g", "b", "a" };

        if (t->kind != TOKEN_SUFFIX || !symbol->vector)
                return symbol->vector
                               ? body_unsupported(p, "line %u: whole vector registers", t->line)
                               : true;
        for (unsigned i = 0; i < 8; i++)
                if (token_is_suffix(t, names[i]) && i % 4 < symbol->vector) {
                        unsigned width = type_width(symbol->type);

                        if (width == 1)
                                width = 2;
                        o->slot.offset += i % 4 * (width ? width * LANES : 4);
                        lexer_next(&p->lexer);
                        return true;
                }
        return unexpected(p);
}

/* A whole vector register stands for the list of its components. */
static bool vector_register(struct parser *p, struct statement *s, struct operand *o,
                            const struct symbol *symbol)
{
        unsigned width = type_width(symbol->type) == 1 ? 2 : type_width(symbol->type);
        struct slot slot = symbol->slot;
        enum type type = symbol->type;
        unsigned count = symbol->vector;

        for (unsigned i = 0; i < count; i++) {
                struct operand *e = element_new(p, s);

                if (!e)
                        return false;
                e->kind = OPERAND_REGISTER;
                e->type = type;
                e->slot = slot;
                slot.offset += width ? width * LANES : 4;
                if (i == 0)
                        o->elements = e;
        }
        o->kind = OPERAND_VECTOR;
        o->count = count;
        return true;
}

static bool special_parse(struct parser *p, struct operand *o, struct slice name)
{
        struct slice component = { "", 0 };
        int special;

        if (p->lexer.token.kind == TOKEN_SUFFIX) {
                component = token_slice(&p->lexer.token);
                lexer_next(&p->lexer);
        }
        special = special_find(name, component);
        if (special < 0)
                return body_unsupported(p, "line %u: register '%.*s'", p->lexer.token.line,
                                        (int)(name.length > 40 ? 40 : name.length), name.text);
        o->kind = OPERAND_SPECIAL;
        o->symbol = (uint32_t)special;
        o->type = special_type(special);
        if (special_reads_clock(special))
                p->body.function->reads_clock = true;
        if (special_uses_cluster(special))
                p->body.function->uses_cluster = true;
        return true;
}

static bool name_parse(struct parser *p, struct statement *s, struct operand *o)
{
        struct slice name = token_slice(&p->lexer.token);
        const struct symbol *symbol = symbol_find(p, name);

        lexer_next(&p->lexer);
        o->name = name;
        if (slice_is(name, "_")) {
                o->kind = OPERAND_SINK;
                return true;
        }
        if (slice_is(name, "WARP_SZ")) {
                o->kind = OPERAND_INTEGER;
                o->bits = LANES;
                return true;
        }
        if (!symbol) {
                o->kind = OPERAND_NAME;
                return name.text[0] == '%' ? special_parse(p, o, name) : true;
        }
        if (symbol->kind == SYMBOL_REGISTER) {
                if (symbol->vector && p->lexer.token.kind != TOKEN_SUFFIX)
                        return vector_register(p, s, o, symbol);
                o->kind = OPERAND_REGISTER;
                o->type = symbol->type;
                o->slot = symbol->slot;
                return component_apply(p, o, symbol);
        }
        o->kind = OPERAND_SYMBOL;
        o->symbol = (uint32_t)(symbol - p->symbols.list);
        return true;
}

/* name + 4, %r1 + -8, %r1|%p1 */
static bool name_continue(struct parser *p, struct statement *s, struct operand *o)
{
        while (token_is(&p->lexer.token, "+") || token_is(&p->lexer.token, "-")) {
                bool is_minus = parser_accept(p, "-");
                struct operand number = { 0 };

                if (!is_minus)
                        parser_accept(p, "+");
                if (parser_accept(p, "-"))
                        is_minus = !is_minus;
                if (p->lexer.token.kind != TOKEN_INTEGER || !number_parse(p, &number, is_minus))
                        return unexpected(p);
                o->offset = (int64_t)((uint64_t)o->offset + number.bits);
        }
        if (o->kind == OPERAND_REGISTER || o->kind == OPERAND_SINK) {
                if (parser_accept(p, "|")) {
                        struct operand second = { 0 };

                        if (p->lexer.token.kind != TOKEN_NAME || !name_parse(p, s, &second))
                                return unexpected(p);
                        o->has_second = second.kind == OPERAND_REGISTER;
                        o->second = second.slot;
                        if (o->has_second && second.slot.width != 0)
                                return unexpected(p);
                }
        }
        return true;
}

static bool operand_parse(struct parser *p, struct statement *s, struct operand *o, int depth)
{
        const struct token *t = &p->lexer.token;

        if (depth > 4)
                return unexpected(p);
        if (parser_accept(p, "{")) {
                o->kind = OPERAND_VECTOR;
                return elements_parse(p, s, o, "}", depth);
        }
        if (parser_accept(p, "[")) {
                o->kind = OPERAND_ADDRESS;
                return elements_parse(p, s, o, "]", depth);
        }
        if (parser_accept(p, "(")) {
                o->kind = OPERAND_LIST;
                return elements_parse(p, s, o, ")", depth);
        }
        if (parser_accept(p, "!"))
                o->is_negated = true;
        if (t->kind == TOKEN_NAME)
                return name_parse(p, s, o) && name_continue(p, s, o);
        if (parser_accept(p, "-")) {
                if (t->kind != TOKEN_INTEGER && t->kind != TOKEN_FLOAT)
                        return unexpected(p);
                return number_parse(p, o, true);
        }
        if (t->kind == TOKEN_INTEGER || t->kind == TOKEN_FLOAT)
                return number_parse(p, o, false);
        return unexpected(p);
}

static void guard_parse(struct parser *p, struct statement *s)
{
        struct operand o = { 0 };

        s->is_guard_negated = parser_accept(p, "!");
        if (p->lexer.token.kind != TOKEN_NAME || !name_parse(p, s, &o) ||
            o.kind != OPERAND_REGISTER || o.slot.width != 0) {
                parser_fail(p, "a guard is not a predicate");
                return;
        }
        s->has_guard = true;
        s->guard = o.slot;
}

static void skip_statement(struct parser *p)
{
        while (p->lexer.token.kind != TOKEN_END && !token_is(&p->lexer.token, ";"))
                lexer_next(&p->lexer);
        parser_accept(p, ";");
}

static bool operands_parse(struct parser *p, struct statement *s)
{
        while (!token_is(&p->lexer.token, ";")) {
                if (s->operand_count == STATEMENT_OPERANDS)
                        return body_unsupported(p, "line %u: too many operands", s->line);
                if (!operand_parse(p, s, &s->operands[s->operand_count], 0))
                        return false;
                s->operand_count++;
                if (!parser_accept(p, ","))
                        break;
        }
        return token_is(&p->lexer.token, ";") || unexpected(p);
}

static void statement_clear(struct statement *s)
{
        memset(s->operands, 0, sizeof s->operands);
        s->suffix_count = s->operand_count = s->element_count = 0;
        s->has_guard = s->is_guard_negated = false;
}

void statement_parse(struct parser *p, struct statement *s)
{
        statement_clear(s);
        s->line = p->lexer.token.line;
        if (parser_accept(p, "@"))
                guard_parse(p, s);
        if (p->failure)
                return;
        if (p->lexer.token.kind != TOKEN_NAME)
                return (void)parser_fail(p, "an instruction was expected");
        s->opcode = token_slice(&p->lexer.token);
        lexer_next(&p->lexer);
        while (p->lexer.token.kind == TOKEN_SUFFIX) {
                if (s->suffix_count == STATEMENT_SUFFIXES)
                        return (void)parser_fail(p, "an instruction has too many suffixes");
                s->suffixes[s->suffix_count++] = token_slice(&p->lexer.token);
                lexer_next(&p->lexer);
        }
        if (opcode_find(s->opcode) && !operands_parse(p, s))
                s->opcode.length = 0; /* reported; nothing to decode */
        if (!p->failure)
                skip_statement(p);
}
