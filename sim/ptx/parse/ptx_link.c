/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a parse: joins declarations to definitions, computes what each kernel needs; the module's
 * accessors. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "ptx_ir.h"

#define RECURSION_BYTES 16384u

static const struct {
        const char *name;
        enum system_kind kind;
} systems[] = {
        { "vprintf", SYSTEM_PRINTF },
        { "malloc", SYSTEM_MALLOC },
        { "free", SYSTEM_FREE },
        { "__assertfail", SYSTEM_ASSERT },
        { "__assert_fail", SYSTEM_ASSERT },
};

static uint32_t system_find(const char *name)
{
        for (unsigned n = 0; n < sizeof systems / sizeof *systems; n++)
                if (strcmp(name, systems[n].name) == 0)
                        return systems[n].kind;
        return SYSTEM_NONE;
}

static bool function_is_offered(const struct function *f)
{
        return f->is_defined && (f->is_visible || f->is_weak);
}

static int functions_join(struct ptx_module *m, struct err *e)
{
        for (uint32_t n = 0; n < m->function_count; n++) {
                struct function *f = &m->functions[n];

                if (f->definition != n) /* an alias */
                        continue;
                if (f->is_defined && !f->is_weak)
                        continue;
                if (!f->is_defined)
                        f->system = system_find(f->name);
                for (uint32_t k = 0; k < m->function_count && !f->system; k++) {
                        const struct function *other = &m->functions[k];

                        if (k == n || !function_is_offered(other) ||
                            strcmp(other->name, f->name) != 0)
                                continue;
                        /* A strong definition wins over a weak one, the first among equals. */
                        if (!f->is_defined || !other->is_weak || k < n) {
                                f->definition = k;
                                if (!other->is_weak)
                                        break;
                        }
                }
        }
        (void)e;
        return 0;
}

static void variables_join(struct ptx_module *m)
{
        for (uint32_t n = 0; n < m->variable_count; n++) {
                struct variable *v = &m->variables[n];

                if (v->space == VARIABLE_SHARED || !(v->is_extern || v->is_weak))
                        continue;
                for (uint32_t k = 0; k < m->variable_count; k++) {
                        const struct variable *other = &m->variables[k];

                        if (k != n && !other->is_extern && other->view.is_visible &&
                            other->space != VARIABLE_SHARED &&
                            strcmp(other->view.name, v->view.name) == 0 &&
                            (v->is_extern || !other->is_weak || k < n)) {
                                v->definition = k;
                                break;
                        }
                }
                v->view.is_undefined = v->is_extern && v->definition == n;
        }
}

/* Two strong definitions of a visible name in different texts. */
static int clashes_find(const struct ptx_module *m, struct err *e)
{
        for (uint32_t n = 0; n < m->function_count; n++)
                for (uint32_t k = n + 1; k < m->function_count && m->functions[n].is_visible; k++) {
                        const struct function *a = &m->functions[n], *b = &m->functions[k];

                        if (a->unit != b->unit && a->is_defined && b->is_defined && b->is_visible &&
                            !a->is_weak && !b->is_weak && strcmp(a->name, b->name) == 0)
                                return err_set(e, -EINVAL, "'%s' is defined in two inputs",
                                               a->name);
                }
        return 0;
}

struct reach {
        uint8_t *is_reached;
        uint32_t *list;
        uint32_t count;
        uint32_t *incoming;
};

static void reach_add(const struct ptx_module *m, struct reach *r, uint32_t function)
{
        uint32_t n = m->functions[function].definition;

        if (r->is_reached[n])
                return;
        r->is_reached[n] = 1;
        r->list[r->count++] = n;
}

/* Everything a kernel may call; an indirect call may reach every function. */
static void reach_fill(const struct ptx_module *m, struct reach *r, uint32_t from)
{
        memset(r->is_reached, 0, m->function_count);
        r->count = 0;
        reach_add(m, r, from);
        for (uint32_t n = 0; n < r->count; n++) {
                const struct function *f = &m->functions[r->list[n]];

                for (uint32_t k = 0; k < f->callee_count; k++)
                        reach_add(m, r, f->callees[k]);
                for (uint32_t k = 0; k < m->function_count && f->has_indirect_call; k++)
                        if (m->functions[k].is_defined && !m->functions[k].is_kernel)
                                reach_add(m, r, k);
        }
}

/* Removes functions nobody left calls until none remains: those that remain call in circles. */
static bool reach_is_cyclic(const struct ptx_module *m, struct reach *r)
{
        uint32_t removed = 0, *ready = calloc(r->count + 1, sizeof *ready), ready_count = 0;

        if (!ready)
                return true;
        memset(r->incoming, 0, m->function_count * sizeof *r->incoming);
        for (uint32_t n = 0; n < r->count; n++)
                for (uint32_t k = 0; k < m->functions[r->list[n]].callee_count; k++)
                        r->incoming[m->functions[m->functions[r->list[n]].callees[k]].definition]++;
        for (uint32_t n = 0; n < r->count; n++)
                if (!r->incoming[r->list[n]])
                        ready[ready_count++] = r->list[n];
        while (removed < ready_count) {
                const struct function *f = &m->functions[ready[removed++]];

                for (uint32_t k = 0; k < f->callee_count; k++) {
                        uint32_t to = m->functions[f->callees[k]].definition;

                        if (--r->incoming[to] == 0)
                                ready[ready_count++] = to;
                }
        }
        free(ready);
        return removed < r->count;
}

static int kernel_shared_add(struct ptx_kernel *kernel, const struct ptx_module *m, uint32_t index)
{
        const struct variable *v = &m->variables[index];
        struct shared_offset *moved;
        uint64_t at;

        if (v->space != VARIABLE_SHARED)
                return 0;
        for (uint32_t n = 0; n < kernel->shared_count; n++)
                if (kernel->shared[n].variable == index)
                        return 0;
        moved = realloc(kernel->shared, (kernel->shared_count + 1) * sizeof *moved);
        if (!moved)
                return -ENOMEM;
        kernel->shared = moved;
        at = ((uint64_t)kernel->footprint.shared_bytes + v->view.align - 1) &
             ~((uint64_t)v->view.align - 1);
        moved[kernel->shared_count] = (struct shared_offset){ index, (uint32_t)at, v->is_extern };
        kernel->shared_count++;
        if (!v->is_extern) {
                if (at + v->view.size > (1u << 24))
                        return -E2BIG;
                kernel->footprint.shared_bytes = (uint32_t)(at + v->view.size);
        }
        return 0;
}

/* Dynamic shared memory begins after all that is static. */
static void kernel_shared_close(struct ptx_kernel *kernel)
{
        for (uint32_t n = 0; n < kernel->shared_count; n++)
                if (kernel->shared[n].is_dynamic)
                        kernel->shared[n].offset = (kernel->footprint.shared_bytes + 15) & ~15u;
}

__attribute__((format(printf, 2, 3))) static void kernel_refuse(struct ptx_kernel *kernel,
                                                                const char *format, ...)
{
        char text[200];
        va_list arguments;

        if (kernel->reason)
                return;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        kernel->reason = strdup(text);
}

static void kernel_judge(struct ptx_kernel *kernel, const struct ptx_module *m,
                         const struct function *f, bool is_certain)
{
        if (f->system)
                return;
        if (!f->is_defined && is_certain)
                kernel_refuse(kernel, "function '%.100s' is not defined", f->name);
        if (f->reason && is_certain)
                kernel_refuse(kernel, "%s%.60s%s%s", f->is_kernel ? "" : "function '",
                              f->is_kernel ? "" : f->name, f->is_kernel ? "" : "': ", f->reason);
        for (uint32_t n = 0; n < f->shared_count; n++) {
                const struct variable *v = &m->variables[f->shared[n]];

                if (v->view.is_undefined && is_certain)
                        kernel_refuse(kernel, "variable '%.100s' is not defined", v->view.name);
        }
}

static int kernel_gather(struct ptx_kernel *kernel, const struct ptx_module *m, struct reach *r)
{
        const struct function *kernel_function = kernel->function;
        uint64_t stack = 0;
        bool is_indirect = false;

        reach_fill(m, r, kernel_function->index);
        for (uint32_t n = 0; n < r->count; n++)
                is_indirect = is_indirect || m->functions[r->list[n]].has_indirect_call;
        for (uint32_t n = 0; n < r->count; n++) {
                const struct function *f = &m->functions[r->list[n]];

                stack += (f->memory_bytes + 15) & ~15u;
                kernel->footprint.reads_clock = kernel->footprint.reads_clock || f->reads_clock;
                kernel->uses_cluster = kernel->uses_cluster || f->uses_cluster;
                kernel_judge(kernel, m, f, !is_indirect || f == kernel_function);
                for (uint32_t k = 0; k < f->shared_count; k++) {
                        int got = kernel_shared_add(kernel, m, f->shared[k]);

                        if (got == -ENOMEM)
                                return got;
                        if (got < 0)
                                kernel_refuse(kernel, "its shared variables are too large");
                }
        }
        if (is_indirect || reach_is_cyclic(m, r))
                stack += RECURSION_BYTES;
        if (stack > (1u << 20))
                kernel_refuse(kernel, "its local variables are too large");
        kernel->stack_bytes = (uint32_t)(stack > (1u << 20) ? 0 : (stack + 15) & ~UINT64_C(15));
        kernel->footprint.local_bytes = kernel->stack_bytes;
        kernel_shared_close(kernel);
        return 0;
}

/* PTX names far more registers than a compiler needs in the end. A guess is no reason to refuse a
 * launch: a full block of 1024 threads always fits. */
static uint32_t registers_guess(const struct function *f)
{
        uint32_t guess = 12 + f->register_bytes / 20, limit = 65536 / 1024;

        if (f->max_threads && 65536 / f->max_threads < limit)
                limit = 65536 / f->max_threads;
        if (guess > limit)
                guess = limit;
        return guess < 16 ? 16 : (guess + 1) & ~1u;
}

static int kernel_make(struct ptx_module *m, struct ptx_kernel *kernel, const struct function *f,
                       struct reach *r)
{
        int got;

        *kernel = (struct ptx_kernel){ .module = m, .function = f };
        kernel->params = calloc(f->param_count + 1, sizeof *kernel->params);
        if (!kernel->params)
                return -ENOMEM;
        kernel->footprint = (struct ptx_footprint){
                .param_count = f->param_count,
                .registers = registers_guess(f),
                .max_threads = f->max_threads,
        };
        memcpy(kernel->footprint.required_block, f->required_block, sizeof f->required_block);
        for (uint32_t n = 0; n < f->param_count; n++) {
                kernel->params[n] = (struct ptx_param){ f->params[n].offset, f->params[n].size,
                                                        f->params[n].align };
                kernel->footprint.param_bytes = f->params[n].offset + f->params[n].size;
        }
        got = kernel_gather(kernel, m, r);
        kernel->footprint.reason = kernel->reason;
        kernel->footprint.is_runnable = !kernel->reason;
        return got;
}

static int kernels_make(struct ptx_module *m)
{
        struct reach r = { calloc(m->function_count + 1, 1),
                           calloc(m->function_count + 1, sizeof *r.list), 0,
                           calloc(m->function_count + 1, sizeof *r.incoming) };
        int got = r.is_reached && r.list && r.incoming ? 0 : -ENOMEM;

        m->kernels = calloc(m->function_count + 1, sizeof *m->kernels);
        if (!m->kernels)
                got = -ENOMEM;
        for (uint32_t n = 0; n < m->function_count && got == 0; n++)
                if (m->functions[n].is_kernel && m->functions[n].is_defined &&
                    m->functions[n].definition == n)
                        got = kernel_make(m, &m->kernels[m->kernel_count++], &m->functions[n], &r);
        free(r.is_reached);
        free(r.list);
        free(r.incoming);
        return got;
}

int module_finish(struct ptx_module *m, struct err *e)
{
        int r = clashes_find(m, e);

        if (r == 0)
                r = functions_join(m, e);
        if (r < 0)
                return r;
        variables_join(m);
        m->listed = calloc(m->variable_count + 1, sizeof *m->listed);
        if (!m->listed)
                return err_set(e, -ENOMEM, "out of memory");
        for (uint32_t n = 0; n < m->variable_count; n++)
                if (m->variables[n].space != VARIABLE_SHARED && m->variables[n].definition == n)
                        m->listed[m->listed_count++] = n;
        r = kernels_make(m);
        return r < 0 ? err_set(e, r, "out of memory") : 0;
}
