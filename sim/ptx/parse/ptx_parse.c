/* SPDX-License-Identifier: Apache-2.0 */
/* Reads modules: directives of module scope, functions' headers; bodies are ptx_parse_body.c's. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "ptx_build.h"

int parser_fail(struct parser *p, const char *format, ...)
{
        char text[160];
        va_list arguments;

        if (p->failure)
                return p->failure;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        p->failure = err_set(p->e, -EINVAL, "PTX line %u: %s", p->lexer.token.line, text);
        p->lexer.at = p->lexer.end; /* every loop sees the end */
        p->lexer.token = (struct token){ .kind = TOKEN_END, .text = p->lexer.end };
        return p->failure;
}

int parser_no_memory(struct parser *p)
{
        parser_fail(p, "out of memory");
        p->failure = -ENOMEM;
        return p->failure;
}

bool parser_accept(struct parser *p, const char *mark)
{
        if (!token_is(&p->lexer.token, mark))
                return false;
        lexer_next(&p->lexer);
        return true;
}

bool parser_accept_suffix(struct parser *p, const char *text)
{
        if (!token_is_suffix(&p->lexer.token, text))
                return false;
        lexer_next(&p->lexer);
        return true;
}

bool parser_expect(struct parser *p, const char *mark)
{
        struct token t = p->lexer.token;

        if (parser_accept(p, mark))
                return true;
        if (t.kind == TOKEN_END)
                parser_fail(p, "the text ends where '%s' was expected", mark);
        else
                parser_fail(p, "'%s' was expected, not '%.*s'", mark,
                            (int)(t.length > 40 ? 40 : t.length), t.text);
        return false;
}

bool parser_grow(struct parser *p, void *array, uint32_t *capacity, uint32_t count, size_t size)
{
        uint32_t wanted = *capacity ? *capacity * 2 : 16;
        void *old, *moved;

        if (count < *capacity)
                return true;
        if (wanted > (1u << 27)) {
                parser_fail(p, "the text is too large");
                return false;
        }
        memcpy(&old, array, sizeof old);
        moved = realloc(old, wanted * size);
        if (!moved) {
                parser_no_memory(p);
                return false;
        }
        memcpy(array, &moved, sizeof moved);
        *capacity = wanted;
        return true;
}

static uint64_t constant_factor(struct parser *p)
{
        struct token t = p->lexer.token;
        uint64_t sign = 0;

        while (token_is(&t, "-") || token_is(&t, "+")) {
                sign ^= token_is(&t, "-");
                lexer_next(&p->lexer);
                t = p->lexer.token;
        }
        if (t.kind != TOKEN_INTEGER) {
                parser_fail(p, "a number was expected");
                return 0;
        }
        lexer_next(&p->lexer);
        return sign ? -t.bits : t.bits;
}

int64_t parser_constant(struct parser *p)
{
        uint64_t sum = 0, product = constant_factor(p);

        for (;;) {
                if (parser_accept(p, "*"))
                        product *= constant_factor(p);
                else if (token_is(&p->lexer.token, "+") || token_is(&p->lexer.token, "-")) {
                        sum += product;
                        product = constant_factor(p);
                } else
                        return (int64_t)(sum + product);
        }
}

/* Skips one debug section or directive we have no use for. */
static void skip_section(struct parser *p)
{
        while (p->lexer.token.kind != TOKEN_END && !token_is(&p->lexer.token, "}"))
                lexer_next(&p->lexer);
        parser_accept(p, "}");
}

static void skip_statement(struct parser *p)
{
        while (p->lexer.token.kind != TOKEN_END && !token_is(&p->lexer.token, ";"))
                lexer_next(&p->lexer);
        parser_accept(p, ";");
}

/* .file 1 "name" [, time, size]   and   .loc 1 2 3 [, function_name …, inlined_at …] */
static void skip_line_directive(struct parser *p)
{
        uint32_t line = p->lexer.token.line;

        while (p->lexer.token.kind != TOKEN_END && p->lexer.token.line == line)
                lexer_next(&p->lexer);
}

static void target_parse(struct parser *p)
{
        uint32_t line = p->lexer.token.line;

        while (p->lexer.token.kind != TOKEN_END && p->lexer.token.line == line) {
                struct token t = p->lexer.token;

                if (t.kind == TOKEN_NAME && t.length > 3 && memcmp(t.text, "sm_", 3) == 0) {
                        unsigned sm = 0;

                        for (size_t i = 3; i < t.length && t.text[i] >= '0' && t.text[i] <= '9';
                             i++)
                                sm = sm * 10 + (unsigned)(t.text[i] - '0');
                        if (sm > p->module->target_sm && sm < 10000)
                                p->module->target_sm = sm;
                }
                lexer_next(&p->lexer);
        }
}

static void version_parse(struct parser *p)
{
        struct token t = p->lexer.token;
        double version = 0;

        if (t.kind != TOKEN_FLOAT)
                return (void)parser_fail(p, ".version has no number");
        memcpy(&version, &t.bits, sizeof version);
        if (version > 0 && version < 100)
                p->module->ptx_version = (unsigned)(version * 10 + 0.5);
        lexer_next(&p->lexer);
}

/* Parameters live in the thread's memory, the kernel's in the launch's block. */
static void params_parse(struct parser *p, struct function *f, struct parameter **array,
                         uint32_t *count, uint32_t *bytes)
{
        uint32_t capacity = *count;

        while (!token_is(&p->lexer.token, ")") && !p->failure) {
                struct declaration d;
                struct symbol *s;

                parser_accept_suffix(p, "reg");
                parser_accept_suffix(p, "param");
                if (!declaration_type(p, &d) || !declaration_name(p, &d))
                        return;
                if (d.size > MEMORY_LIMIT || *bytes > MEMORY_LIMIT)
                        return (void)parser_fail(p, "parameters are too large");
                *bytes = (*bytes + d.align - 1) & ~(d.align - 1);
                if (!parser_grow(p, array, &capacity, *count, sizeof **array))
                        return;
                (*array)[(*count)++] = (struct parameter){ *bytes, (uint32_t)d.size, d.align };
                if (!parser_grow(p, &p->pending, &p->pending_capacity, p->pending_count, sizeof *s))
                        return;
                s = &p->pending[p->pending_count++];
                *s = (struct symbol){ .name = d.name,
                                      .kind = SYMBOL_MEMORY,
                                      .type = d.type,
                                      .is_kernel_param = f->is_kernel,
                                      .offset = *bytes,
                                      .size = (uint32_t)d.size,
                                      .align = d.align };
                *bytes += (uint32_t)d.size;
                if (!parser_accept(p, ","))
                        break;
        }
        parser_expect(p, ")");
}

static void ntid_parse(struct parser *p, uint32_t dims[3])
{
        for (int i = 0; i < 3; i++) {
                int64_t value = parser_constant(p);

                dims[i] = value > 0 && value < 65536 ? (uint32_t)value : 1;
                if (!parser_accept(p, ","))
                        break;
        }
}

/* .maxntid 256, 1, 1  .reqntid  .minnctapersm  .noreturn … between header and body */
static void hints_parse(struct parser *p, struct function *f)
{
        while (p->lexer.token.kind == TOKEN_SUFFIX) {
                uint32_t dims[3] = { 1, 1, 1 };

                if (parser_accept_suffix(p, "maxntid")) {
                        ntid_parse(p, dims);
                        f->max_threads = dims[0] * dims[1] * dims[2];
                } else if (parser_accept_suffix(p, "reqntid")) {
                        ntid_parse(p, dims);
                        memcpy(f->required_block, dims, sizeof dims);
                } else {
                        lexer_next(&p->lexer);
                        while (p->lexer.token.kind == TOKEN_INTEGER ||
                               p->lexer.token.kind == TOKEN_STRING ||
                               token_is(&p->lexer.token, ","))
                                lexer_next(&p->lexer);
                }
        }
}

/* A second appearance of a name in the same text is the same function. */
static uint32_t function_declare(struct parser *p, struct slice name, const struct function *seen)
{
        struct ptx_module *m = p->module;
        struct symbol *s = symbol_find(p, name);
        struct function *f;

        if (s && s->kind == SYMBOL_FUNCTION)
                return s->index;
        if (m->function_count >= MODULE_LIMIT)
                return parser_fail(p, "too many functions"), UINT32_MAX;
        if (!parser_grow(p, &m->functions, &p->function_capacity, m->function_count, sizeof *f))
                return UINT32_MAX;
        f = &m->functions[m->function_count];
        *f = (struct function){ .name = slice_copy(name),
                                .unit = p->unit,
                                .index = m->function_count,
                                .definition = m->function_count,
                                .is_kernel = seen->is_kernel };
        if (!f->name)
                return parser_no_memory(p), UINT32_MAX;
        m->function_count++;
        s = symbol_add(p, name);
        if (!s)
                return UINT32_MAX;
        s->kind = SYMBOL_FUNCTION;
        s->index = f->index;
        return f->index;
}

/* Moves what the header said into the declared function. */
static void function_take(struct function *to, struct function *from)
{
        free(to->params);
        free(to->returns);
        to->params = from->params;
        to->returns = from->returns;
        to->param_count = from->param_count;
        to->return_count = from->return_count;
        to->memory_bytes = from->memory_bytes;
        to->max_threads = from->max_threads;
        memcpy(to->required_block, from->required_block, sizeof to->required_block);
        to->is_kernel = from->is_kernel;
        to->is_visible = to->is_visible || from->is_visible;
        to->is_weak = to->is_weak || from->is_weak;
        to->is_extern = to->is_extern || from->is_extern;
        from->params = from->returns = NULL;
}

static struct slice function_header(struct parser *p, struct function *f)
{
        struct slice name = { NULL, 0 };

        if (!f->is_kernel && parser_accept(p, "("))
                params_parse(p, f, &f->returns, &f->return_count, &f->memory_bytes);
        if (p->lexer.token.kind != TOKEN_NAME) {
                parser_fail(p, "a function has no name");
                return name;
        }
        name = (struct slice){ p->lexer.token.text, p->lexer.token.length };
        lexer_next(&p->lexer);
        if (parser_accept(p, "("))
                params_parse(p, f, &f->params, &f->param_count, &f->memory_bytes);
        hints_parse(p, f);
        return name;
}

/* The header's parameters become names of the body's scope. */
static void pending_declare(struct parser *p)
{
        for (uint32_t i = 0; i < p->pending_count; i++) {
                struct symbol *s = symbol_add(p, p->pending[i].name);
                struct symbol one = p->pending[i];

                if (!s)
                        return;
                one.next = s->next;
                one.bucket = s->bucket;
                *s = one;
        }
}

static void function_define(struct parser *p, struct function *header, struct slice name)
{
        bool has_body = token_is(&p->lexer.token, "{");
        uint32_t index = function_declare(p, name, header), outer = p->symbols.count;
        struct function *f;

        if (index == UINT32_MAX)
                return;
        f = &p->module->functions[index];
        if (f->is_defined && has_body) {
                parser_fail(p, "'%.*s' is defined twice", (int)name.length, name.text);
                return;
        }
        if (!f->is_defined)
                function_take(f, header);
        if (!has_body) {
                parser_accept(p, ";");
                return;
        }
        pending_declare(p);
        if (!p->failure)
                body_parse(p, f);
        symbols_drop(&p->symbols, outer);
}

static void function_parse(struct parser *p, bool is_kernel, struct linkage linkage)
{
        struct function f = { .is_kernel = is_kernel,
                              .is_visible = linkage.is_visible,
                              .is_weak = linkage.is_weak,
                              .is_extern = linkage.is_extern };
        struct slice name;

        p->pending_count = 0;
        name = function_header(p, &f);
        if (!p->failure)
                function_define(p, &f, name);
        free(f.params);
        free(f.returns);
}

/* .alias name, aliasee; both are functions of this text. */
static void alias_parse(struct parser *p)
{
        struct symbol *names[2];

        for (int i = 0; i < 2; i++) {
                names[i] = symbol_find(
                        p, (struct slice){ p->lexer.token.text, p->lexer.token.length });
                lexer_next(&p->lexer);
                if (i == 0 && !parser_expect(p, ","))
                        return;
        }
        if (names[0] && names[1] && names[0]->kind == SYMBOL_FUNCTION &&
            names[1]->kind == SYMBOL_FUNCTION)
                p->module->functions[names[0]->index].definition = names[1]->index;
        parser_expect(p, ";");
}

static struct linkage linkage_parse(struct parser *p)
{
        struct linkage linkage = { 0 };

        for (;;) {
                if (parser_accept_suffix(p, "visible"))
                        linkage.is_visible = true;
                else if (parser_accept_suffix(p, "extern"))
                        linkage.is_extern = true;
                else if (parser_accept_suffix(p, "weak"))
                        linkage.is_weak = true;
                else if (parser_accept_suffix(p, "common"))
                        linkage.is_common = true;
                else
                        return linkage;
        }
}

static void directive_skip(struct parser *p)
{
        static const char *const line_directives[] = { "file", "loc", "address_size" };

        for (size_t i = 0; i < sizeof line_directives / sizeof *line_directives; i++)
                if (token_is_suffix(&p->lexer.token, line_directives[i]))
                        return skip_line_directive(p);
        if (parser_accept_suffix(p, "section"))
                skip_section(p);
        else if (parser_accept_suffix(p, "pragma"))
                skip_statement(p);
        else
                parser_fail(p, "unexpected '%.*s'",
                            (int)(p->lexer.token.length > 40 ? 40 : p->lexer.token.length),
                            p->lexer.token.text);
}

static void directive_parse(struct parser *p)
{
        static const char *const spaces[] = { "global", "const", "shared", "tex" };
        struct linkage linkage = linkage_parse(p);

        for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
                if (parser_accept_suffix(p, spaces[i]))
                        return variable_parse(p, spaces[i], linkage);
        if (parser_accept_suffix(p, "entry"))
                function_parse(p, true, linkage);
        else if (parser_accept_suffix(p, "func")) {
                while (parser_accept_suffix(p, "noreturn") || parser_accept_suffix(p, "attribute"))
                        continue;
                function_parse(p, false, linkage);
        } else if (parser_accept_suffix(p, "version"))
                version_parse(p);
        else if (parser_accept_suffix(p, "target"))
                target_parse(p);
        else if (parser_accept_suffix(p, "alias"))
                alias_parse(p);
        else
                directive_skip(p);
}

static int text_parse(struct parser *p, const struct ptx_text *text)
{
        int r = symbols_init(&p->symbols);

        if (r < 0)
                return err_set(p->e, r, "out of memory");
        lexer_init(&p->lexer, text->text, text->length);
        if (!token_is_suffix(&p->lexer.token, "version"))
                parser_fail(p, "the text does not begin with .version");
        while (p->lexer.token.kind != TOKEN_END)
                directive_parse(p);
        symbols_done(&p->symbols);
        return p->failure;
}

int ptx_module_link(const struct ptx_text *texts, size_t count, struct ptx_module **ret_module,
                    struct err *e)
{
        struct parser p = { .e = e, .module = calloc(1, sizeof *p.module) };
        int r = 0;

        if (!p.module)
                return err_set(e, -ENOMEM, "out of memory");
        for (size_t i = 0; i < count && r == 0; i++) {
                p.unit = (uint32_t)i;
                r = text_parse(&p, &texts[i]);
        }
        free(p.pending);
        if (r == 0)
                r = module_finish(p.module, e);
        if (r < 0) {
                ptx_module_free(p.module);
                return r;
        }
        *ret_module = p.module;
        return 0;
}

int ptx_module_new(const char *text, size_t length, struct ptx_module **ret_module, struct err *e)
{
        return ptx_module_link(&(struct ptx_text){ text, length }, 1, ret_module, e);
}
