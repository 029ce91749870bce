/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a function's body: scopes, declarations, labels; statements go to their decoders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_build.h"

#define SCOPE_LIMIT 256u

static bool register_add(struct parser *p, struct slice name, const struct declaration *d)
{
        unsigned width = type_width(d->type);
        struct slot slot = { 0, 0, 0 };
        struct symbol *s;

        if (width == 1) /* narrower rows would save nothing */
                width = 2;
        for (unsigned i = 0; i < (d->vector ? d->vector : 1); i++) {
                struct slot one;

                if (!body_register(p, width, &one))
                        return false;
                if (i == 0)
                        slot = one;
        }
        s = symbol_add(p, name);
        if (!s)
                return false;
        s->kind = SYMBOL_REGISTER;
        s->type = d->type;
        s->vector = (uint8_t)d->vector;
        s->slot = slot;
        return true;
}

/* The numbered names need text of their own, which the function keeps. */
static bool register_range(struct parser *p, const struct declaration *d)
{
        size_t capacity = d->name.length + 12;
        char *names;

        if (d->name.length > 256)
                return parser_fail(p, "a register's name is too long"), false;
        if ((uint64_t)d->range * type_width(d->type) * LANES > FRAME_LIMIT)
                return parser_fail(p, "too many registers"), false;
        names = body_own(p, d->range ? d->range * capacity : 1);
        if (!names)
                return false;
        for (uint32_t i = 0; i < d->range; i++) {
                char *name = names + i * capacity;
                int length =
                        snprintf(name, capacity, "%.*s%u", (int)d->name.length, d->name.text, i);

                if (!register_add(p, (struct slice){ name, (size_t)length }, d))
                        return false;
        }
        return true;
}

static void registers_parse(struct parser *p)
{
        struct declaration d;

        if (!declaration_type(p, &d))
                return;
        do {
                struct declaration one = d;

                if (!declaration_name(p, &one))
                        return;
                if (one.range ? !register_range(p, &one) : !register_add(p, one.name, &one))
                        return;
        } while (parser_accept(p, ","));
        parser_expect(p, ";");
}

/* .local and .param variables live in the thread's memory. */
static void memory_parse(struct parser *p, bool is_local)
{
        struct function *f = p->body.function;
        struct declaration d;

        if (!declaration_type(p, &d))
                return;
        do {
                struct declaration one = d;
                struct symbol *s;

                if (!declaration_name(p, &one))
                        return;
                if (one.size > MEMORY_LIMIT || f->memory_bytes > MEMORY_LIMIT)
                        return (void)parser_fail(p, "a function's variables are too large");
                f->memory_bytes = (f->memory_bytes + one.align - 1) & ~(one.align - 1);
                s = symbol_add(p, one.name);
                if (!s)
                        return;
                s->kind = SYMBOL_MEMORY;
                s->is_local = is_local;
                s->type = one.type;
                s->offset = f->memory_bytes;
                s->size = (uint32_t)one.size;
                s->align = one.align;
                f->memory_bytes += (uint32_t)one.size;
        } while (parser_accept(p, ","));
        parser_expect(p, ";");
}

static bool targets_labels(struct parser *p, struct branch_table *table)
{
        struct slice *names = NULL;
        uint32_t capacity = 0, count = 0;
        bool is_fine = true;

        while (p->lexer.token.kind == TOKEN_NAME && is_fine) {
                is_fine = parser_grow(p, &names, &capacity, count, sizeof *names);
                if (is_fine)
                        names[count++] =
                                (struct slice){ p->lexer.token.text, p->lexer.token.length };
                lexer_next(&p->lexer);
                if (!parser_accept(p, ","))
                        break;
        }
        table->targets = is_fine ? body_own(p, (count ? count : 1) * sizeof *table->targets) : NULL;
        for (uint32_t i = 0; table->targets && i < count && is_fine; i++)
                is_fine = body_use_label(p, names[i], 0, &table->targets[i]);
        table->count = count;
        free(names);
        return is_fine && table->targets;
}

/* name: .branchtargets a, b;   name: .callprototype …;   name: .calltargets f, g; */
static void targets_parse(struct parser *p, struct slice name)
{
        struct branch_table *table = body_own(p, sizeof *table);
        struct symbol *s;

        if (!table)
                return;
        if (parser_accept_suffix(p, "branchtargets") && !targets_labels(p, table))
                return;
        while (p->lexer.token.kind != TOKEN_END && !token_is(&p->lexer.token, ";"))
                lexer_next(&p->lexer);
        parser_accept(p, ";");
        s = p->failure ? NULL : symbol_add(p, name);
        if (s) {
                s->kind = SYMBOL_TARGETS;
                s->table = table;
        }
}

static void label_add(struct parser *p, struct slice name)
{
        struct body *b = &p->body;

        if (!parser_grow(p, &b->labels, &b->label_capacity, b->label_count, sizeof *b->labels))
                return;
        b->labels[b->label_count++] = (struct label){ name, b->scope, b->function->code_count };
}

/* A name followed by a colon. The lexer is put back when it is not. */
static bool label_parse(struct parser *p)
{
        struct lexer before = p->lexer;
        struct slice name = { before.token.text, before.token.length };

        if (before.token.kind != TOKEN_NAME)
                return false;
        lexer_next(&p->lexer);
        if (!token_is(&p->lexer.token, ":")) {
                p->lexer = before;
                return false;
        }
        lexer_next(&p->lexer);
        if (token_is_suffix(&p->lexer.token, "branchtargets") ||
            token_is_suffix(&p->lexer.token, "callprototype") ||
            token_is_suffix(&p->lexer.token, "calltargets"))
                targets_parse(p, name);
        else
                label_add(p, name);
        return true;
}

static void directive_parse(struct parser *p)
{
        uint32_t line = p->lexer.token.line;

        if (parser_accept_suffix(p, "reg"))
                registers_parse(p);
        else if (parser_accept_suffix(p, "local"))
                memory_parse(p, true);
        else if (parser_accept_suffix(p, "param"))
                memory_parse(p, false);
        else if (parser_accept_suffix(p, "shared"))
                variable_parse(p, "shared", (struct linkage){ 0 });
        else if (parser_accept_suffix(p, "global"))
                variable_parse(p, "global", (struct linkage){ 0 });
        else if (parser_accept_suffix(p, "const"))
                variable_parse(p, "const", (struct linkage){ 0 });
        else if (token_is_suffix(&p->lexer.token, "loc") ||
                 token_is_suffix(&p->lexer.token, "file")) {
                while (p->lexer.token.kind != TOKEN_END && p->lexer.token.line == line)
                        lexer_next(&p->lexer);
        } else if (parser_accept_suffix(p, "pragma") || p->lexer.token.kind == TOKEN_SUFFIX) {
                while (p->lexer.token.kind != TOKEN_END && !token_is(&p->lexer.token, ";") &&
                       !token_is(&p->lexer.token, "}"))
                        lexer_next(&p->lexer);
                parser_accept(p, ";");
        } else
                parser_fail(p, "unexpected '%.*s'", (int)(p->lexer.token.length ? 1 : 0),
                            p->lexer.token.text);
}

static bool scope_enter(struct parser *p)
{
        struct body *b = &p->body;

        if (!parser_grow(p, &b->scope_parent, &b->scope_capacity, b->scope_count,
                         sizeof *b->scope_parent))
                return false;
        b->scope_parent[b->scope_count] = b->scope;
        b->scope = b->scope_count++;
        return true;
}

static void statements_parse(struct parser *p)
{
        uint32_t marks[SCOPE_LIMIT], depth = 0;
        struct statement *s = p->body.statement;

        while (p->lexer.token.kind != TOKEN_END) {
                if (parser_accept(p, "{")) {
                        if (depth == SCOPE_LIMIT)
                                return (void)parser_fail(p, "scopes are nested too deeply");
                        marks[depth++] = p->symbols.count;
                        if (!scope_enter(p))
                                return;
                } else if (token_is(&p->lexer.token, "}")) {
                        if (depth == 0)
                                return;
                        lexer_next(&p->lexer);
                        symbols_drop(&p->symbols, marks[--depth]);
                        p->body.scope = p->body.scope_parent[p->body.scope];
                } else if (parser_accept(p, ";") || label_parse(p))
                        continue;
                else if (p->lexer.token.kind == TOKEN_NAME || token_is(&p->lexer.token, "@")) {
                        statement_parse(p, s);
                        if (!p->failure)
                                body_decode(p, s);
                } else
                        directive_parse(p);
        }
}

static int label_order(const void *a, const void *b)
{
        const struct label *x = a, *y = b;
        size_t length = x->name.length < y->name.length ? x->name.length : y->name.length;
        int order = memcmp(x->name.text, y->name.text, length);

        if (order)
                return order;
        if (x->name.length != y->name.length)
                return x->name.length < y->name.length ? -1 : 1;
        return x->scope < y->scope ? -1 : x->scope > y->scope;
}

/* Branches name labels of their own scope or an outer one. */
static void labels_resolve(struct parser *p)
{
        struct body *b = &p->body;

        if (b->label_count)
                qsort(b->labels, b->label_count, sizeof *b->labels, label_order);
        for (uint32_t i = 0; i < b->use_count; i++) {
                struct label_use *use = &b->uses[i];
                struct label key = { use->name, use->scope, 0 }, *found = NULL;

                while (b->label_count) {
                        found = bsearch(&key, b->labels, b->label_count, sizeof key, label_order);
                        if (found || key.scope == 0)
                                break;
                        key.scope = b->scope_parent[key.scope];
                }
                if (!found)
                        return (void)parser_fail(
                                p, "label '%.*s' of line %u is not defined",
                                (int)(use->name.length > 60 ? 60 : use->name.length),
                                use->name.text, use->line);
                if (use->table)
                        *use->table = found->pc;
                else
                        b->function->code[use->insn].target = found->pc;
        }
}

void body_parse(struct parser *p, struct function *function)
{
        struct body *b = &p->body;
        struct function own = *function; /* the module's array may move meanwhile */
        struct statement *s = calloc(1, sizeof *s);
        uint32_t index = function->index;

        if (!s)
                return (void)parser_no_memory(p);
        if (own.is_kernel)
                own.memory_bytes = 0; /* its parameters are the launch's */
        *b = (struct body){ .function = &own, .statement = s };
        if (parser_expect(p, "{") && scope_enter(p)) {
                statements_parse(p);
                parser_expect(p, "}");
        }
        if (!p->failure)
                body_finish(p);
        if (!p->failure)
                labels_resolve(p);
        own.is_defined = true;
        p->module->functions[index] = own;
        free(b->labels);
        free(b->uses);
        free(b->scope_parent);
        free(s);
}
