/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of warps, blocks and clusters; fences; sleep. */
#include "ptx_block.h"
#include "ptx_ops.h"

static void warp_barrier(struct warp *w, const struct insn *i)
{
        warp_gather(w, members_read(w, i));
}

enum { REDUCE_NONE, REDUCE_POPC, REDUCE_AND, REDUCE_OR };

static void barrier_take(struct warp *w, const struct insn *i, uint32_t lanes)
{
        while (lanes) {
                uint32_t l = lane_next(&lanes), ones = w->lane_result[l] & INT32_MAX;

                if (i->mode == REDUCE_POPC)
                        lane_put(w, i->d, l, ones);
                else if (i->mode == REDUCE_AND)
                        lane_put(w, i->d, l, w->lane_result[l] >> 31);
                else if (i->mode == REDUCE_OR)
                        lane_put(w, i->d, l, ones != 0);
        }
}

/* Lanes come twice: to arrive, and to go on once the barrier has opened. */
static void barrier(struct warp *w, const struct insn *i)
{
        uint32_t back = w->exec & w->passed, first, expected, id;

        if (back) {
                w->passed &= ~back;
                barrier_take(w, i, back);
                w->exec &= ~back;
                if (!w->exec)
                        return;
        }
        first = (uint32_t)__builtin_ctz(w->exec);
        id = (uint32_t)lane_get(w, i->a, first) % BARRIERS;
        expected = i->count ? (uint32_t)lane_get(w, i->b, first) : 0;
        block_arrive(w, id, expected, i->mode ? predicate_get(w, i->c) : 0, !i->is_flagged);
}

/* barrier.cta.red.popc.u32 d, a{, b}, p;  bar.sync a{, b};  bar.arrive a, b; */
static bool decode_block_barrier(struct parser *p, const struct statement *s)
{
        bool is_red = statement_has(s, "red");
        unsigned at = is_red ? 1 : 0, last = s->operand_count - (is_red ? 1 : 0);
        struct slot d = { 0 }, a, b = { 0 }, c = { 0 };
        struct insn *i;

        if (s->operand_count < (is_red ? 3u : 1u) || last > at + 2 || last <= at)
                return body_unsupported(p, "line %u: a barrier of this form", s->line);
        if (!body_source(p, &s->operands[at], TYPE_U32, &a) ||
            (last == at + 2 && !body_source(p, &s->operands[at + 1], TYPE_U32, &b)) ||
            (is_red && !body_predicate(p, &s->operands[last], false, &c)))
                return false;
        if (is_red &&
            !(statement_has(s, "popc") ? body_destination(p, &s->operands[0], TYPE_U32, &d)
                                       : body_predicate(p, &s->operands[0], true, &d)))
                return false;
        i = body_emit(p, barrier);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->b = b;
        i->c = c;
        i->count = last == at + 2;
        i->is_flagged = statement_has(s, "arrive");
        i->mode = !is_red                    ? REDUCE_NONE
                  : statement_has(s, "popc") ? REDUCE_POPC
                  : statement_has(s, "and")  ? REDUCE_AND
                                             : REDUCE_OR;
        return true;
}

/* A cluster is one block: its barrier is the block's, kept apart as the last of the sixteen. */
static bool decode_cluster_barrier(struct parser *p, const struct statement *s)
{
        struct slot a;
        struct insn *i;

        p->body.function->uses_cluster = true;
        if (statement_has(s, "arrive"))
                return true;
        if (!body_constant(p, BARRIERS - 1, 4, &a))
                return false;
        i = body_emit(p, barrier);
        if (!i)
                return false;
        i->a = a;
        return true;
}

static bool decode_bar(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct slot members;
        struct insn *i;

        (void)opcode;
        if (statement_has(s, "cluster"))
                return decode_cluster_barrier(p, s);
        if (!statement_has(s, "warp"))
                return decode_block_barrier(p, s);
        if (s->operand_count != 1 || !body_source(p, &s->operands[0], TYPE_B32, &members))
                return false;
        i = body_emit(p, warp_barrier);
        if (!i)
                return false;
        i->d2 = members;
        i->is_flagged = true;
        return true;
}

static void fence(struct warp *w, const struct insn *i)
{
        (void)w, (void)i;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static bool decode_fence(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        (void)s, (void)opcode;
        return body_emit(p, fence) != NULL;
}

static void nanosleep_run(struct warp *w, const struct insn *i)
{
        w->clock_ns += lane_get(w, i->a, (uint32_t)__builtin_ctz(w->exec)) & UINT32_MAX;
        w->fuel = 0; /* others may be what it waits for */
}

static bool decode_nanosleep(struct parser *p, const struct statement *s,
                             const struct opcode *opcode)
{
        struct slot a;
        struct insn *i;

        (void)opcode;
        if (s->operand_count != 1 || !body_source(p, &s->operands[0], TYPE_U32, &a))
                return false;
        p->body.function->reads_clock = true;
        i = body_emit(p, nanosleep_run);
        if (!i)
                return false;
        i->a = a;
        return true;
}

const struct opcode opcodes_barrier[] = {
        { "bar", decode_bar, NULL, NULL, 0 },
        { "barrier", decode_bar, NULL, NULL, 0 },
        { "membar", decode_fence, NULL, NULL, 0 },
        { "fence", decode_fence, NULL, NULL, 0 },
        { "nanosleep", decode_nanosleep, NULL, NULL, 0 },
        { NULL, NULL, NULL, NULL, 0 },
};
