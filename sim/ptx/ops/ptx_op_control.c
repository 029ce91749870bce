/* SPDX-License-Identifier: Apache-2.0 */
/* Control: branches, calls, returns, exits, traps. */
#include <stdlib.h>

#include "ptx_ops.h"
#include "ptx_system.h"

static void branch(struct warp *w, const struct insn *i)
{
        if (w->exec == w->active)
                w->pc = i->target;
        else
                warp_split(w, w->exec, i->target);
}

static void branch_indexed(struct warp *w, const struct insn *i)
{
        const struct branch_table *table = i->detail;
        uint32_t left = w->exec;

        while (left) {
                uint32_t first = (uint32_t)__builtin_ctz(left), lanes = 0, mask = left;
                uint64_t index = lane_get(w, i->a, first);

                if (index >= table->count) {
                        run_fault(w, PTX_LAUNCH_FAILURE, 0, "branch index %llu of %u (PTX line %u)",
                                  (unsigned long long)index, table->count, i->line);
                        return;
                }
                while (mask) {
                        uint32_t l = lane_next(&mask);

                        lanes |= (uint32_t)(lane_get(w, i->a, l) == index) << l;
                }
                warp_split(w, lanes, table->targets[index]);
                left &= ~lanes;
        }
}

static void leave(struct warp *w, const struct insn *i)
{
        (void)i;
        warp_exit(w, w->exec);
}

/* The results go from the callee's memory to the caller's, lane by lane. */
static void results_copy(struct warp *w, const struct frame *from, const struct frame *to,
                         uint32_t lanes)
{
        const struct call_site *site = from->call->detail;
        uint32_t stride = w->block->run->stack_bytes;

        while (lanes) {
                unsigned char *stack = w->stack + (uint64_t)stride * lane_next(&lanes);

                for (uint32_t n = 0; n < site->result_count && n < from->function->return_count;
                     n++) {
                        const struct parameter *a = &from->function->returns[n];
                        uint32_t size =
                                site->results[n].size < a->size ? site->results[n].size : a->size;

                        memmove(stack + to->memory_base + site->results[n].offset,
                                stack + from->memory_base + a->offset, size);
                }
        }
}

static void give_back(struct warp *w, const struct insn *i)
{
        struct frame *frame = w->frame, *caller = frame->caller;
        uint32_t lanes = w->exec, mask = lanes;

        (void)i;
        if (!caller) {
                warp_exit(w, lanes);
                return;
        }
        results_copy(w, frame, caller, lanes);
        warp_split(w, lanes, frame->return_pc);
        while (mask)
                w->lane_frame[lane_next(&mask)] = caller;
        frame->lanes &= ~lanes;
        w->active &= ~lanes;
        if (!frame->lanes)
                free(frame);
}

/* Where the callee's memory starts, or UINT32_MAX: the stack is full. */
static uint32_t stack_offset(const struct warp *w, const struct function *callee)
{
        uint64_t base = w->frame->memory_base + (uint64_t)w->frame->function->memory_bytes;

        base = (base + 15) & ~UINT64_C(15);
        return base + callee->memory_bytes > w->block->run->stack_bytes ? UINT32_MAX
                                                                        : (uint32_t)base;
}

static void arguments_copy(struct warp *w, const struct call_site *site, const struct frame *to,
                           uint32_t lanes)
{
        uint32_t stride = w->block->run->stack_bytes;

        while (lanes) {
                unsigned char *stack = w->stack + (uint64_t)stride * lane_next(&lanes);

                for (uint32_t n = 0; n < site->argument_count && n < to->function->param_count;
                     n++) {
                        const struct parameter *b = &to->function->params[n];
                        uint32_t size = site->arguments[n].size < b->size ? site->arguments[n].size
                                                                          : b->size;

                        memmove(stack + to->memory_base + b->offset,
                                stack + w->frame->memory_base + site->arguments[n].offset, size);
                }
        }
}

static bool callee_is_fit(struct warp *w, const struct insn *i, const struct function *callee)
{
        if (!callee->is_defined || callee->is_kernel || callee->reason) {
                run_fault(w, PTX_UNSUPPORTED, 0, "call of '%s' (PTX line %u): %.80s", callee->name,
                          i->line, callee->reason ? callee->reason : "no body");
                return false;
        }
        return true;
}

static void enter(struct warp *w, const struct insn *i, const struct function *callee,
                  uint32_t lanes)
{
        const struct call_site *site = i->detail;
        uint32_t base = stack_offset(w, callee), mask = lanes;
        struct frame *frame;

        if (!callee_is_fit(w, i, callee))
                return;
        frame = base == UINT32_MAX || w->frame->depth >= 4096 ? NULL : frame_new(callee);
        if (!frame) {
                run_fault(w, PTX_LAUNCH_FAILURE, 0, "the stack is full in '%s' (PTX line %u)",
                          callee->name, i->line);
                return;
        }
        frame->caller = w->frame;
        frame->call = i;
        frame->depth = w->frame->depth + 1;
        frame->lanes = lanes;
        frame->return_pc = w->pc;
        frame->memory_base = base;
        arguments_copy(w, site, frame, lanes);
        warp_split(w, lanes, 0);
        while (mask)
                w->lane_frame[lane_next(&mask)] = frame;
        w->active &= ~lanes;
}

static const struct function *function_at(const struct warp *w, uint64_t address)
{
        const struct ptx_module *module = w->block->run->kernel->module;
        uint64_t index = (address & ~WINDOW_MASK) / 16;

        if ((address & WINDOW_MASK) != WINDOW_FUNCTION || index >= module->function_count)
                return NULL;
        return &module->functions[module->functions[index].definition];
}

static void call(struct warp *w, const struct insn *i)
{
        const struct ptx_module *module = w->block->run->kernel->module;
        const struct call_site *site = i->detail;
        const struct function *callee;
        uint32_t left = w->exec;

        if (site->function != UINT32_MAX) {
                callee = &module->functions[module->functions[site->function].definition];
                if (callee->system)
                        system_call(w, i, callee->system);
                else
                        enter(w, i, callee, left);
                return;
        }
        while (left) {
                uint32_t lanes = 0, mask = left;
                uint64_t address = lane_get(w, i->a, (uint32_t)__builtin_ctz(left));

                while (mask) {
                        uint32_t l = lane_next(&mask);

                        lanes |= (uint32_t)(lane_get(w, i->a, l) == address) << l;
                }
                callee = function_at(w, address);
                if (!callee) {
                        run_fault(w, PTX_ILLEGAL_ADDRESS, address, "call of 0x%llx (PTX line %u)",
                                  (unsigned long long)address, i->line);
                        return;
                }
                enter(w, i, callee, lanes);
                left &= ~lanes;
        }
}

static void trap(struct warp *w, const struct insn *i)
{
        run_fault(w, PTX_TRAP, 0, "trap (PTX line %u)", i->line);
}

static bool decode_bra(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        if (s->operand_count != 1 || s->operands[0].kind != OPERAND_NAME)
                return body_unsupported(p, "line %u: %s to no label", s->line, opcode->name);
        if (!body_emit(p, branch))
                return false;
        return body_use_label(p, s->operands[0].name, p->body.function->code_count - 1, NULL);
}

static bool decode_brx(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        const struct symbol *targets;
        struct slot a;
        struct insn *i;

        if (s->operand_count != 2 || s->operands[1].kind != OPERAND_SYMBOL)
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        targets = &p->symbols.list[s->operands[1].symbol];
        if (targets->kind != SYMBOL_TARGETS || !targets->table->targets)
                return body_unsupported(p, "line %u: %s without targets", s->line, opcode->name);
        if (!body_source(p, &s->operands[0], TYPE_U32, &a))
                return false;
        i = body_emit(p, branch_indexed);
        if (!i)
                return false;
        i->a = a;
        i->detail = p->symbols.list[s->operands[1].symbol].table;
        return true;
}

/* An argument is a .param variable of the caller, or a register or literal put into one here. */
static bool argument_offset(struct parser *p, const struct operand *o, struct parameter *ret)
{
        const struct symbol *symbol;

        if (o->kind != OPERAND_SYMBOL)
                return body_unsupported(p, "line %u: a call with registers as arguments",
                                        p->body.statement->line);
        symbol = &p->symbols.list[o->symbol];
        if (symbol->kind != SYMBOL_MEMORY || symbol->is_kernel_param)
                return body_unsupported(p, "line %u: an argument in another space",
                                        p->body.statement->line);
        *ret = (struct parameter){ symbol->offset, symbol->size, symbol->align };
        return true;
}

static bool call_list(struct parser *p, const struct operand *o, struct parameter **ret,
                      uint32_t *ret_count)
{
        struct parameter *list = body_own(p, (o->count ? o->count : 1) * sizeof *list);

        if (!list)
                return false;
        for (uint32_t n = 0; n < o->count; n++)
                if (!argument_offset(p, &o->elements[n], &list[n]))
                        return false;
        *ret = list;
        *ret_count = o->count;
        return true;
}

static bool callee_note(struct parser *p, uint32_t function)
{
        struct body *b = &p->body;
        struct function *f = b->function;

        if (!parser_grow(p, &f->callees, &b->callee_capacity, f->callee_count, sizeof *f->callees))
                return false;
        f->callees[f->callee_count++] = function;
        return true;
}

/* call (results), target, (arguments) [, prototype]; results and arguments may be left out. */
static bool decode_call(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct call_site *site = body_own(p, sizeof *site);
        unsigned n = 0;
        struct slot a = { 0 };
        struct insn *i;

        (void)opcode;
        if (!site)
                return false;
        if (s->operands[0].kind == OPERAND_LIST &&
            !call_list(p, &s->operands[n++], &site->results, &site->result_count))
                return false;
        if (n >= s->operand_count)
                return body_unsupported(p, "line %u: a call of nothing", s->line);
        site->function = UINT32_MAX;
        if (s->operands[n].kind == OPERAND_REGISTER) {
                a = s->operands[n].slot;
                p->body.function->has_indirect_call = true;
        } else if (s->operands[n].kind == OPERAND_SYMBOL &&
                   p->symbols.list[s->operands[n].symbol].kind == SYMBOL_FUNCTION) {
                site->function = p->symbols.list[s->operands[n].symbol].index;
                if (!callee_note(p, site->function))
                        return false;
        } else
                return body_unsupported(p, "line %u: a call of an unknown function", s->line);
        n++;
        if (n < s->operand_count && s->operands[n].kind == OPERAND_LIST &&
            !call_list(p, &s->operands[n], &site->arguments, &site->argument_count))
                return false;
        i = body_emit(p, call);
        if (!i)
                return false;
        i->a = a;
        i->detail = site;
        return true;
}

static bool decode_simple(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        (void)s;
        return body_emit(p, opcode->by_type[0]) != NULL;
}

bool body_finish(struct parser *p)
{
        p->body.statement->has_guard = false;
        return body_emit(p, give_back) != NULL;
}

static handler *const returns[] = { give_back };
static handler *const exits[] = { leave };
static handler *const traps[] = { trap };

const struct opcode opcodes_control[] = {
        { "bra", decode_bra, NULL, NULL, 1 },       { "brx", decode_brx, NULL, NULL, 2 },
        { "call", decode_call, NULL, NULL, 0 },     { "ret", decode_simple, returns, NULL, 0 },
        { "exit", decode_simple, exits, NULL, 0 },  { "trap", decode_simple, traps, NULL, 0 },
        { "brkpt", decode_simple, traps, NULL, 0 }, { NULL, NULL, NULL, NULL, 0 },
};
