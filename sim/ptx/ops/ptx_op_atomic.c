/* SPDX-License-Identifier: Apache-2.0 */
/* atom and red: real atomics on host memory, since blocks run on several cores at once. */
#include <math.h>
#include <pthread.h>

#include "ptx_half.h"
#include "ptx_ops.h"

enum atomic_op {
        ATOMIC_ADD,
        ATOMIC_MIN,
        ATOMIC_MAX,
        ATOMIC_AND,
        ATOMIC_OR,
        ATOMIC_XOR,
        ATOMIC_EXCH,
        ATOMIC_CAS,
        ATOMIC_INC,
        ATOMIC_DEC,
        ATOMIC_COUNT,
};

static const char *const operations[ATOMIC_COUNT] = {
        "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec",
};

static uint64_t float_add(uint64_t x, uint64_t y, enum type type)
{
        uint32_t a = (uint32_t)x, b = (uint32_t)y;
        double wide, other;
        float single, second;

        if (type == TYPE_F64) {
                memcpy(&wide, &x, sizeof wide);
                memcpy(&other, &y, sizeof other);
                wide += other;
                memcpy(&x, &wide, sizeof wide);
                return x;
        }
        memcpy(&single, &a, sizeof single);
        memcpy(&second, &b, sizeof second);
        single += second;
        memcpy(&a, &single, sizeof single);
        return a;
}

static uint16_t half_apply(uint16_t x, uint16_t y, bool is_brain, enum atomic_op op)
{
        double a = is_brain ? (double)bhalf_to_float(x) : half_to_double(x);
        double b = is_brain ? (double)bhalf_to_float(y) : half_to_double(y);
        double value = op == ATOMIC_ADD ? a + b : op == ATOMIC_MIN ? fmin(a, b) : fmax(a, b);

        return is_brain ? bhalf_from_float((float)value, ROUND_NEAREST)
                        : half_from_double(value, ROUND_NEAREST);
}

static uint64_t float_apply(uint64_t x, uint64_t y, enum type type, enum atomic_op op)
{
        bool is_brain = type == TYPE_BF16 || type == TYPE_BF16X2;

        if (type == TYPE_F32 || type == TYPE_F64)
                return float_add(x, y, type);
        if (type_width(type) == 2)
                return half_apply((uint16_t)x, (uint16_t)y, is_brain, op);
        return half_apply((uint16_t)x, (uint16_t)y, is_brain, op) |
               (uint64_t)half_apply((uint16_t)(x >> 16), (uint16_t)(y >> 16), is_brain, op) << 16;
}

static bool is_less(uint64_t x, uint64_t y, enum type type)
{
        switch (type) {
        case TYPE_S32:
                return (int32_t)x < (int32_t)y;
        case TYPE_S64:
                return (int64_t)x < (int64_t)y;
        default:
                return x < y;
        }
}

/* The new value; `z` is cas's third operand. */
static uint64_t apply(const struct insn *i, uint64_t x, uint64_t y, uint64_t z)
{
        enum type type = (enum type)i->type;

        switch ((enum atomic_op)i->mode) {
        case ATOMIC_EXCH:
                return y;
        case ATOMIC_CAS:
                return x == y ? z : x;
        case ATOMIC_AND:
                return x & y;
        case ATOMIC_OR:
                return x | y;
        case ATOMIC_XOR:
                return x ^ y;
        case ATOMIC_INC:
                return x >= y ? 0 : x + 1;
        case ATOMIC_DEC:
                return x == 0 || x > y ? y : x - 1;
        default:
                break;
        }
        if (type_is_float(type))
                return float_apply(x, y, type, (enum atomic_op)i->mode);
        if (i->mode == ATOMIC_ADD)
                return x + y;
        return is_less(x, y, type) == (i->mode == ATOMIC_MIN) ? x : y;
}

#define EXCHANGE(n, T)                                                                             \
        static uint64_t exchange_##n(const struct insn *i, T *at, uint64_t y, uint64_t z)          \
        {                                                                                          \
                T before = __atomic_load_n(at, __ATOMIC_RELAXED), after;                           \
                do {                                                                               \
                        after = (T)apply(i, before, y, z);                                         \
                } while (!__atomic_compare_exchange_n(at, &before, after, false, __ATOMIC_SEQ_CST, \
                                                      __ATOMIC_RELAXED));                          \
                return before;                                                                     \
        }

EXCHANGE(16, uint16_t)
EXCHANGE(32, uint32_t)
EXCHANGE(64, uint64_t)

static uint64_t exchange(const struct insn *i, void *at, uint64_t y, uint64_t z, unsigned width)
{
        switch (width) {
        case 2:
                return exchange_16(i, at, (uint16_t)y, (uint16_t)z);
        case 4:
                return exchange_32(i, at, (uint32_t)y, (uint32_t)z);
        default:
                return exchange_64(i, at, y, z);
        }
}

static uint64_t address_of(const struct warp *w, const struct insn *i, uint32_t lane)
{
        return lane_get(w, i->a, lane) + (uint64_t)i->immediate;
}

/* 32-bit addition whose result nobody reads, or whose lanes need no loop: the processor's own. */
static void add_32(struct warp *w, const struct insn *i)
{
        const uint32_t *b = row(w, i->b);
        uint32_t *d = i->is_flagged ? NULL : row(w, i->d);
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask), before;
                uint32_t *at = memory_reach(w, i, l, address_of(w, i, l), 4, true);

                if (!at)
                        return;
                before = __atomic_fetch_add(at, b[l], __ATOMIC_SEQ_CST);
                if (d)
                        d[l] = before;
        }
}

static void atomic(struct warp *w, const struct insn *i)
{
        unsigned width = type_width((enum type)i->type);
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                void *at = memory_reach(w, i, l, address_of(w, i, l), width, true);
                uint64_t before;

                if (!at)
                        return;
                before = exchange(i, at, lane_get(w, i->b, l),
                                  i->mode == ATOMIC_CAS ? lane_get(w, i->c, l) : 0, width);
                if (!i->is_flagged)
                        lane_put(w, i->d, l, before);
        }
}

/* 128 bits: exclusive against each other by a lock. */
static void atomic_wide(struct warp *w, const struct insn *i)
{
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                unsigned char *at = memory_reach(w, i, l, address_of(w, i, l), 16, true),
                              before[16];
                const unsigned char *b = (unsigned char *)row(w, i->b) + 16 * l, *c;

                if (!at)
                        return;
                c = i->mode == ATOMIC_CAS ? (unsigned char *)row(w, i->c) + 16 * l : b;
                pthread_mutex_lock(&lock);
                memcpy(before, at, 16);
                if (i->mode == ATOMIC_EXCH || memcmp(before, b, 16) == 0)
                        memcpy(at, c, 16);
                pthread_mutex_unlock(&lock);
                if (!i->is_flagged)
                        memcpy((unsigned char *)row(w, i->d) + 16 * l, before, 16);
        }
}

/* red.global.add.v4.f32: element by element. */
static void atomic_vector(struct warp *w, const struct insn *i)
{
        unsigned width = type_width((enum type)i->type);
        uint32_t mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                unsigned char *at =
                        memory_reach(w, i, l, address_of(w, i, l), width * i->count, true);

                if (!at)
                        return;
                for (unsigned n = 0; n < i->count; n++) {
                        uint64_t before = exchange(i, at + n * width,
                                                   lane_get(w, i->list[i->count + n], l), 0, width);

                        if (!i->is_flagged)
                                lane_put(w, i->list[n], l, before);
                }
        }
}

static handler *atomic_choose(enum type type, int op)
{
        bool is_word = type == TYPE_U32 || type == TYPE_S32 || type == TYPE_B32;

        if (type == TYPE_B128)
                return op == ATOMIC_CAS || op == ATOMIC_EXCH ? atomic_wide : NULL;
        if (type_width(type) < 2)
                return NULL;
        if ((type == TYPE_F32 || type == TYPE_F64) && op != ATOMIC_ADD && op != ATOMIC_EXCH)
                return NULL;
        return op == ATOMIC_ADD && is_word ? add_32 : atomic;
}

static int atomic_find(const struct statement *s)
{
        for (int n = 0; n < ATOMIC_COUNT; n++)
                if (statement_has(s, operations[n]))
                        return n;
        return -1;
}

static bool decode_atomic_vector(struct parser *p, const struct statement *s, bool is_red, int op)
{
        enum type type = statement_type(s, 0);
        const struct operand *values = &s->operands[is_red ? 1 : 2];
        struct slot base, *list = body_own(p, 2 * (values->count + 1) * sizeof *list);
        int64_t offset;
        struct insn *i;

        if (!list)
                return false;
        if (!values->count || values->count > 8 || (values->count & (values->count - 1)) ||
            (!is_red && s->operands[0].count != values->count))
                return body_unsupported(p, "line %u: a vector atomic of this form", s->line);
        for (unsigned n = 0; n < values->count; n++)
                if ((!is_red &&
                     !body_destination(p, &s->operands[0].elements[n], type, &list[n])) ||
                    !body_source(p, &values->elements[n], type, &list[values->count + n]))
                        return false;
        if (!body_address(p, &s->operands[is_red ? 0 : 1], &base, &offset))
                return false;
        i = body_emit(p, atomic_choose(type, op) ? atomic_vector : NULL);
        if (!i)
                return false;
        i->a = base;
        i->immediate = offset;
        i->list = list;
        i->count = (uint8_t)values->count;
        i->type = (uint8_t)type;
        i->space = (uint8_t)space_find(s);
        i->mode = (uint8_t)op;
        i->is_flagged = is_red;
        return true;
}

/* atom d, [a], b{, c};   red [a], b; */
static bool decode_atomic(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        bool is_red = opcode->operands == 2;
        unsigned at = is_red ? 0 : 1;
        int op = atomic_find(s);
        enum type type = statement_type(s, 0);
        struct slot d = { 0 }, base, b, c = { 0 };
        int64_t offset;
        struct insn *i;

        if (op < 0 || s->operand_count < at + (op == ATOMIC_CAS ? 3u : 2u))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (s->operands[at + 1].kind == OPERAND_VECTOR)
                return decode_atomic_vector(p, s, is_red, op);
        if (!body_source(p, &s->operands[at + 1], type, &b) ||
            (op == ATOMIC_CAS && !body_source(p, &s->operands[at + 2], type, &c)) ||
            (!is_red && !body_destination(p, &s->operands[0], type, &d)) ||
            !body_address(p, &s->operands[at], &base, &offset))
                return false;
        i = body_emit(p, atomic_choose(type, op));
        if (!i)
                return false;
        i->d = d;
        i->a = base;
        i->b = b;
        i->c = c;
        i->immediate = offset;
        i->type = (uint8_t)type;
        i->space = (uint8_t)space_find(s);
        i->mode = (uint8_t)op;
        i->is_flagged = is_red || s->operands[0].kind == OPERAND_SINK;
        return true;
}

const struct opcode opcodes_atomic[] = {
        { "atom", decode_atomic, NULL, NULL, 3 },
        { "red", decode_atomic, NULL, NULL, 2 },
        { NULL, NULL, NULL, NULL, 0 },
};
