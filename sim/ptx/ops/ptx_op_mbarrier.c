/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier: barriers that live in shared memory. The word is ours to lay out: how many arrivals a
 * phase takes, how many are missing, and the phase's parity. */
#include "ptx_ops.h"

#define COUNT_MASK    UINT64_C(0xfffff)
#define PENDING_SHIFT 20
#define PHASE         (UINT64_C(1) << 63)

enum {
        MBARRIER_INIT,
        MBARRIER_INVAL,
        MBARRIER_ARRIVE,
        MBARRIER_DROP,
        MBARRIER_TEST,
        MBARRIER_PARITY
};

static uint64_t word_make(uint64_t expected, uint64_t pending, uint64_t phase)
{
        return (expected & COUNT_MASK) | (pending & COUNT_MASK) << PENDING_SHIFT | (phase & PHASE);
}

/* The last arrival of a phase begins the next one. */
static uint64_t word_arrive(uint64_t word, uint64_t count, bool is_drop)
{
        uint64_t expected = word & COUNT_MASK, pending = word >> PENDING_SHIFT & COUNT_MASK;

        if (is_drop)
                expected -= expected < count ? expected : count;
        pending -= pending < count ? pending : count;
        if (pending == 0)
                return word_make(expected, expected, ~word);
        return word_make(expected, pending, word);
}

static void arrive(struct warp *w, const struct insn *i, uint32_t lane, uint64_t *word)
{
        uint64_t count = i->count ? lane_get(w, i->b, lane) : 1;

        if (i->is_flagged)
                lane_put(w, i->d, lane, *word);
        *word = word_arrive(*word, count, i->mode == MBARRIER_DROP);
}

static bool is_over(const struct warp *w, const struct insn *i, uint32_t lane, uint64_t word)
{
        uint64_t waited = lane_get(w, i->b, lane);

        return i->mode == MBARRIER_PARITY ? (word >> 63) != (waited & 1)
                                          : (word & PHASE) != (waited & PHASE);
}

static void mbarrier(struct warp *w, const struct insn *i)
{
        uint32_t mask = w->exec, over = 0;

        while (mask) {
                uint32_t l = lane_next(&mask);
                uint64_t *word = memory_reach(
                        w, i, l, lane_get(w, i->a, l) + (uint64_t)i->immediate, 8, true);
                uint64_t count = i->mode == MBARRIER_INIT ? lane_get(w, i->b, l) : 0;

                if (!word)
                        return;
                switch (i->mode) {
                case MBARRIER_INIT:
                        *word = word_make(count, count, 0);
                        break;
                case MBARRIER_INVAL:
                        *word = 0;
                        break;
                case MBARRIER_ARRIVE:
                case MBARRIER_DROP:
                        arrive(w, i, l, word);
                        break;
                default:
                        over |= (uint32_t)is_over(w, i, l, *word) << l;
                }
        }
        if (i->mode < MBARRIER_TEST)
                return;
        predicate_put(w, i->d, over);
        if (over != w->exec)
                w->fuel = 0; /* whom they wait for should run */
}

static bool mbarrier_emit(struct parser *p, const struct statement *s,
                          const struct operand *address, struct insn *made)
{
        struct insn *i;

        if (!body_address(p, address, &made->a, &made->immediate))
                return false;
        i = body_emit(p, mbarrier);
        if (!i)
                return false;
        i->a = made->a;
        i->b = made->b;
        i->d = made->d;
        i->immediate = made->immediate;
        i->mode = made->mode;
        i->count = made->count;
        i->is_flagged = made->is_flagged;
        i->space = statement_has(s, "shared") || statement_has(s, "shared::cta") ? SPACE_SHARED
                                                                                 : SPACE_GENERIC;
        return true;
}

/* mbarrier.arrive state, [a]{, count};  the state may be _ */
static bool decode_arrive(struct parser *p, const struct statement *s)
{
        struct insn made = { .mode = statement_has(s, "arrive_drop") ? MBARRIER_DROP
                                                                     : MBARRIER_ARRIVE };

        if (s->operand_count < 2 || s->operand_count > 3 || statement_has(s, "expect_tx"))
                return body_unsupported(p, "line %u: mbarrier of this form", s->line);
        made.is_flagged = s->operands[0].kind == OPERAND_REGISTER;
        made.count = s->operand_count == 3;
        if (!body_destination(p, &s->operands[0], TYPE_B64, &made.d) ||
            (made.count && !body_source(p, &s->operands[2], TYPE_U32, &made.b)))
                return false;
        return mbarrier_emit(p, s, &s->operands[1], &made);
}

static bool decode_wait(struct parser *p, const struct statement *s)
{
        bool is_parity = statement_has(s, "parity");
        struct insn made = { .mode = is_parity ? MBARRIER_PARITY : MBARRIER_TEST };

        if (s->operand_count < 3 || !body_predicate(p, &s->operands[0], true, &made.d) ||
            !body_source(p, &s->operands[2], is_parity ? TYPE_B32 : TYPE_B64, &made.b))
                return body_unsupported(p, "line %u: mbarrier of this form", s->line);
        return mbarrier_emit(p, s, &s->operands[1], &made);
}

static bool decode_mbarrier(struct parser *p, const struct statement *s,
                            const struct opcode *opcode)
{
        struct insn made = { .mode = statement_has(s, "init") ? MBARRIER_INIT : MBARRIER_INVAL };

        if (statement_has(s, "arrive") || statement_has(s, "arrive_drop"))
                return decode_arrive(p, s);
        if (statement_has(s, "test_wait") || statement_has(s, "try_wait"))
                return decode_wait(p, s);
        if ((!statement_has(s, "init") && !statement_has(s, "inval")) ||
            s->operand_count != (made.mode == MBARRIER_INIT ? 2u : 1u))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (made.mode == MBARRIER_INIT && !body_source(p, &s->operands[1], TYPE_U32, &made.b))
                return false;
        return mbarrier_emit(p, s, &s->operands[0], &made);
}

const struct opcode opcodes_mbarrier[] = {
        { "mbarrier", decode_mbarrier, NULL, NULL, 0 },
        { NULL, NULL, NULL, NULL, 0 },
};
