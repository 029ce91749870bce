/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to host memory, and the instructions that load and store. */
#include "ptx_ops.h"

static void *fault(struct warp *w, const struct insn *i, uint64_t address, uint32_t length,
                   bool is_write)
{
        run_fault(w, PTX_ILLEGAL_ADDRESS, address, "%s of %u bytes at 0x%llx (PTX line %u)",
                  is_write ? "store" : "load", length, (unsigned long long)address, i->line);
        return NULL;
}

static void *reach_global(struct warp *w, const struct insn *i, uint64_t address, uint32_t length,
                          bool is_write)
{
        struct range *r = &w->block->worker->cache[((uintptr_t)i >> 7) % CACHE_WAYS];
        const struct ptx_memory *memory = w->block->run->launch->memory;
        unsigned char *host;

        if (r->user == i && address >= r->lo && address < r->hi && r->hi - address >= length)
                return r->host + (address - r->lo);
        r->user = NULL;
        host = memory && memory->resolve
                       ? memory->resolve(memory->closure, address, length, is_write, &r->lo, &r->hi)
                       : NULL;
        if (!host)
                return fault(w, i, address, length, is_write);
        if (r->lo > address || r->hi < address + length) {
                r->lo = address;
                r->hi = address + length;
        }
        r->host = host - (address - r->lo);
        r->user = i;
        return host;
}

static void *reach_window(struct warp *w, const struct insn *i, uint32_t lane, uint64_t address,
                          uint32_t length, bool is_write)
{
        struct run *run = w->block->run;
        uint64_t offset = address & ~WINDOW_MASK;

        switch (address & WINDOW_MASK) {
        case WINDOW_SHARED:
                if (offset + length <= w->block->shared_bytes)
                        return w->block->shared + offset;
                break;
        case WINDOW_LOCAL:
                if (offset + length <= run->stack_bytes)
                        return w->stack + (uint64_t)lane * run->stack_bytes + offset;
                break;
        case WINDOW_PARAM:
                if (offset + length <= run->kernel->footprint.param_bytes && !is_write)
                        return run->params + offset;
                break;
        case WINDOW_GRID:
                if (offset + length <= sizeof run->grid_memory)
                        return (unsigned char *)run->grid_memory + offset;
                break;
        default:
                break;
        }
        return fault(w, i, address, length, is_write);
}

void *memory_reach(struct warp *w, const struct insn *i, uint32_t lane, uint64_t address,
                   uint32_t length, bool is_write)
{
        if (address & (length - 1)) {
                run_fault(w, PTX_MISALIGNED, address, "access of %u bytes at 0x%llx (PTX line %u)",
                          length, (unsigned long long)address, i->line);
                return NULL;
        }
        switch ((enum space)i->space) {
        case SPACE_SHARED:
                address = (address & ~WINDOW_MASK) | WINDOW_SHARED;
                break;
        case SPACE_LOCAL:
                address = (address & ~WINDOW_MASK) | WINDOW_LOCAL;
                break;
        case SPACE_PARAM:
                address = (address & ~WINDOW_MASK) | WINDOW_PARAM;
                break;
        default:
                if (!(address & WINDOW_MASK))
                        return reach_global(w, i, address, length, is_write);
        }
        return reach_window(w, i, lane, address, length, is_write);
}

static inline uint64_t lane_address(const struct warp *w, const struct insn *i, uint32_t lane)
{
        const unsigned char *base = row(w, i->a);

        return (i->a.width == 8 ? ((const uint64_t *)base)[lane] : ((const uint32_t *)base)[lane]) +
               (uint64_t)i->immediate;
}

static inline uint64_t read_as(const unsigned char *at, enum type type)
{
        uint16_t half;
        uint32_t word;
        uint64_t wide;

        switch (type) {
        case TYPE_B8:
        case TYPE_U8:
                return *at;
        case TYPE_S8:
                return (uint64_t)(int8_t)*at;
        case TYPE_S16:
                memcpy(&half, at, 2);
                return (uint64_t)(int16_t)half;
        case TYPE_S32:
                memcpy(&word, at, 4);
                return (uint64_t)(int32_t)word;
        default:
                break;
        }
        switch (type_width(type)) {
        case 2:
                memcpy(&half, at, 2);
                return half;
        case 4:
                memcpy(&word, at, 4);
                return word;
        default:
                memcpy(&wide, at, 8);
                return wide;
        }
}

/* One element of the register's own width: what most kernels do most. */
#define PLAIN(n, T)                                                                               \
        static void load_##n(struct warp *w, const struct insn *i)                                \
        {                                                                                         \
                T *d = row(w, i->d);                                                              \
                uint32_t mask = w->exec;                                                          \
                while (mask) {                                                                    \
                        uint32_t l = lane_next(&mask);                                            \
                        const void *from =                                                        \
                                memory_reach(w, i, l, lane_address(w, i, l), sizeof(T), false);   \
                        if (!from)                                                                \
                                return;                                                           \
                        memcpy(&d[l], from, sizeof(T));                                           \
                }                                                                                 \
        }                                                                                         \
        static void store_##n(struct warp *w, const struct insn *i)                               \
        {                                                                                         \
                const T *d = row(w, i->d);                                                        \
                uint32_t mask = w->exec;                                                          \
                while (mask) {                                                                    \
                        uint32_t l = lane_next(&mask);                                            \
                        void *to = memory_reach(w, i, l, lane_address(w, i, l), sizeof(T), true); \
                        if (!to)                                                                  \
                                return;                                                           \
                        memcpy(to, &d[l], sizeof(T));                                             \
                }                                                                                 \
        }

PLAIN(16, uint16_t)
PLAIN(32, uint32_t)
PLAIN(64, uint64_t)

/* .volatile, .relaxed, .acquire, .release: other threads access the same address meanwhile. */
#define STRONG(n, T)                                                                            \
        static void load_strong_##n(struct warp *w, const struct insn *i)                       \
        {                                                                                       \
                T *d = row(w, i->d);                                                            \
                uint32_t mask = w->exec;                                                        \
                while (mask) {                                                                  \
                        uint32_t l = lane_next(&mask);                                          \
                        const T *from =                                                         \
                                memory_reach(w, i, l, lane_address(w, i, l), sizeof(T), false); \
                        if (!from)                                                              \
                                return;                                                         \
                        d[l] = __atomic_load_n(from, __ATOMIC_ACQUIRE);                         \
                }                                                                               \
        }                                                                                       \
        static void store_strong_##n(struct warp *w, const struct insn *i)                      \
        {                                                                                       \
                const T *d = row(w, i->d);                                                      \
                uint32_t mask = w->exec;                                                        \
                while (mask) {                                                                  \
                        uint32_t l = lane_next(&mask);                                          \
                        T *to = memory_reach(w, i, l, lane_address(w, i, l), sizeof(T), true);  \
                        if (!to)                                                                \
                                return;                                                         \
                        __atomic_store_n(to, d[l], __ATOMIC_RELEASE);                           \
                }                                                                               \
        }

STRONG(16, uint16_t)
STRONG(32, uint32_t)
STRONG(64, uint64_t)

/* Vectors and conversions of width. */
static void load_list(struct warp *w, const struct insn *i)
{
        unsigned width = type_width((enum type)i->type);
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                unsigned char copy[64];
                const unsigned char *from =
                        memory_reach(w, i, l, lane_address(w, i, l), width * i->count, false);

                if (!from)
                        return;
                memcpy(copy, from, width * i->count);
                for (unsigned n = 0; n < i->count; n++) {
                        if (i->list[n].width == UINT8_MAX)
                                continue;
                        if (width == 16)
                                memcpy((unsigned char *)row(w, i->list[n]) + 16 * l, copy + 16 * n,
                                       16);
                        else
                                lane_put(w, i->list[n], l,
                                         read_as(copy + n * width, (enum type)i->type));
                }
        }
}

static void store_list(struct warp *w, const struct insn *i)
{
        unsigned width = type_width((enum type)i->type);
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                unsigned char *to =
                        memory_reach(w, i, l, lane_address(w, i, l), width * i->count, true);

                if (!to)
                        return;
                for (unsigned n = 0; n < i->count; n++) {
                        uint64_t value = lane_get(w, i->list[n], l);

                        if (width == 16)
                                memcpy(to + 16 * n, (unsigned char *)row(w, i->list[n]) + 16 * l,
                                       16);
                        else
                                memcpy(to + n * width, &value, width);
                }
        }
}

/* ld.param of a kernel at a fixed offset: the same bytes for every lane. */
static void load_param(struct warp *w, const struct insn *i)
{
        const unsigned char *from = w->block->run->params + i->immediate;
        unsigned width = type_width((enum type)i->type);

        for (unsigned n = 0; n < i->count; n++) {
                uint64_t value = read_as(from + n * width, (enum type)i->type);
                uint32_t mask = w->exec;

                while (mask && i->list[n].width != UINT8_MAX)
                        lane_put(w, i->list[n], lane_next(&mask), value);
        }
}

struct access {
        enum type type;
        enum space space;
        unsigned count;
        struct slot *list;
};

static bool access_list(struct parser *p, const struct operand *o, bool is_load, struct access *a)
{
        a->count = o->kind == OPERAND_VECTOR ? o->count : 1;
        if (!a->count || a->count > 8 || (a->count & (a->count - 1)) ||
            a->count * type_width(a->type) > 32)
                return body_unsupported(p, "line %u: a vector of %u elements",
                                        p->body.statement->line, a->count);
        a->list = body_own(p, a->count * sizeof *a->list);
        if (!a->list)
                return false;
        for (unsigned n = 0; n < a->count; n++) {
                const struct operand *one = o->kind == OPERAND_VECTOR ? &o->elements[n] : o;

                if (is_load && one->kind == OPERAND_SINK)
                        a->list[n].width = UINT8_MAX;
                else if (is_load && one->kind != OPERAND_REGISTER)
                        return body_unsupported(p, "line %u: a load to no register",
                                                p->body.statement->line);
                else if (!body_source_any(p, one, a->type, &a->list[n]))
                        return false;
                if (a->list[n].width == 0 || (type_width(a->type) == 16 && a->list[n].width != 16))
                        return body_unsupported(p, "line %u: a register of this size",
                                                p->body.statement->line);
        }
        return true;
}

static bool is_plain(const struct access *a)
{
        return a->count == 1 && a->list[0].width == type_width(a->type) && a->list[0].width <= 8 &&
               a->list[0].width >= 2;
}

static bool is_strong(const struct statement *s)
{
        return statement_has(s, "volatile") || statement_has(s, "relaxed") ||
               statement_has(s, "acquire") || statement_has(s, "release");
}

static bool access_emit(struct parser *p, const struct access *a, struct slot base, int64_t offset,
                        bool is_load)
{
        static handler *const loads[9] = { [2] = load_16, [4] = load_32, [8] = load_64 };
        static handler *const strong_loads[9] = {
                [2] = load_strong_16, [4] = load_strong_32, [8] = load_strong_64
        };
        static handler *const strong_stores[9] = {
                [2] = store_strong_16, [4] = store_strong_32, [8] = store_strong_64
        };
        static handler *const stores[9] = { [2] = store_16, [4] = store_32, [8] = store_64 };
        handler *run = is_load ? load_list : store_list;
        struct insn *i;

        if (is_plain(a) && is_strong(p->body.statement))
                run = (is_load ? strong_loads : strong_stores)[a->list[0].width];
        else if (is_plain(a))
                run = (is_load ? loads : stores)[a->list[0].width];
        i = body_emit(p, run);
        if (!i)
                return false;
        i->type = (uint8_t)a->type;
        i->space = (uint8_t)a->space;
        i->d = a->list[0];
        i->a = base;
        i->immediate = offset;
        i->list = a->list;
        i->count = (uint8_t)a->count;
        return true;
}

/* A kernel's parameter named directly: no address is needed. */
static bool decode_param(struct parser *p, const struct statement *s, struct access *a,
                         const struct symbol *symbol, int64_t offset)
{
        uint64_t bytes = a->count * type_width(a->type);
        struct insn *i;

        if (offset < 0 || (uint64_t)offset + bytes > symbol->size || type_width(a->type) > 8)
                return body_unsupported(p, "line %u: a load beyond its parameter", s->line);
        i = body_emit(p, load_param);
        if (!i)
                return false;
        i->type = (uint8_t)a->type;
        i->immediate = symbol->offset + offset;
        i->list = a->list;
        i->count = (uint8_t)a->count;
        return true;
}

static bool decode_access(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        bool is_load = opcode->operands == 2;
        const struct operand *address = &s->operands[is_load ? 1 : 0];
        struct access a = { .type = statement_type(s, 0), .space = space_find(s) };
        struct slot base;
        int64_t offset;

        if (s->operand_count < 2 || type_width(a.type) == 0)
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!access_list(p, &s->operands[is_load ? 0 : 1], is_load, &a))
                return false;
        if (address->kind == OPERAND_ADDRESS && address->count == 1 &&
            address->elements[0].kind == OPERAND_SYMBOL) {
                const struct symbol *symbol = &p->symbols.list[address->elements[0].symbol];

                if (symbol->kind == SYMBOL_MEMORY && symbol->is_kernel_param && is_load)
                        return decode_param(p, s, &a, symbol, address->elements[0].offset);
                if (symbol->kind == SYMBOL_MEMORY && a.space == SPACE_GENERIC)
                        a.space = SPACE_LOCAL;
                if (symbol->kind == SYMBOL_VARIABLE && a.space == SPACE_GENERIC &&
                    p->module->variables[symbol->index].space == VARIABLE_SHARED)
                        a.space = SPACE_SHARED;
        }
        if (a.space == SPACE_PARAM && !p->body.function->is_kernel)
                a.space = SPACE_LOCAL; /* a function's parameters are in the thread's memory */
        if (a.space == SPACE_PARAM && address->count == 1 &&
            address->elements[0].kind == OPERAND_SYMBOL)
                a.space = SPACE_LOCAL; /* a call's argument being made by a kernel */
        if (!body_address(p, address, &base, &offset))
                return false;
        return access_emit(p, &a, base, offset, is_load);
}

static bool decode_nothing(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        (void)p, (void)s, (void)opcode;
        return true;
}

const struct opcode opcodes_memory[] = {
        { "ld", decode_access, NULL, NULL, 2 },
        { "ldu", decode_access, NULL, NULL, 2 },
        { "st", decode_access, NULL, NULL, 3 },
        { "prefetch", decode_nothing, NULL, NULL, 1 },
        { "prefetchu", decode_nothing, NULL, NULL, 1 },
        { "applypriority", decode_nothing, NULL, NULL, 1 },
        { "discard", decode_nothing, NULL, NULL, 1 },
        { NULL, NULL, NULL, NULL, 0 },
};
