/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a warp among each other: shuffles, votes, matches, reductions. */
#include "ptx_ops.h"

/* The members a .sync instruction names: the union over the lanes, each may name its own group. */
uint32_t members_read(const struct warp *w, const struct insn *i)
{
        uint32_t mask = w->exec, members = 0;

        if (!i->is_flagged) /* no .sync: whoever is here */
                return w->exec;
        while (mask)
                members |= (uint32_t)lane_get(w, i->d2, lane_next(&mask));
        return members;
}

enum { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };

static uint32_t shuffle_source(uint32_t lane, uint32_t b, uint32_t c, unsigned mode,
                               bool *ret_is_in)
{
        uint32_t clamp = c & 31, segment = c >> 8 & 31, value = b & 31;
        uint32_t highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
        int32_t from;

        switch (mode) {
        case SHUFFLE_UP:
                from = (int32_t)lane - (int32_t)value;
                *ret_is_in = from >= (int32_t)highest;
                break;
        case SHUFFLE_DOWN:
                from = (int32_t)(lane + value);
                *ret_is_in = from <= (int32_t)highest;
                break;
        case SHUFFLE_BFLY:
                from = (int32_t)(lane ^ value);
                *ret_is_in = from <= (int32_t)highest;
                break;
        default:
                from = (int32_t)(lowest | (value & ~segment));
                *ret_is_in = from <= (int32_t)highest;
        }
        return *ret_is_in ? (uint32_t)from & 31 : lane;
}

static void shuffle(struct warp *w, const struct insn *i)
{
        uint32_t before[LANES], bits = 0, mask;
        uint32_t *d = row(w, i->d);

        if (!warp_gather(w, members_read(w, i)))
                return;
        memcpy(before, row(w, i->a), sizeof before);
        mask = w->exec;
        while (mask) {
                uint32_t l = lane_next(&mask);
                bool is_in;
                uint32_t from = shuffle_source(l, (uint32_t)lane_get(w, i->b, l),
                                               (uint32_t)lane_get(w, i->c, l), i->mode, &is_in);

                /* Undefined from a lane that does not take part; the hardware reads zero, and
                 * CUDA's own reduction sample counts on it. */
                d[l] = w->exec >> from & 1 ? before[from] : 0;
                bits |= (uint32_t)is_in << l;
        }
        if (i->count)
                predicate_put(w, i->list[0], bits);
}

static bool decode_shfl(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        static const char *const modes[] = { "up", "down", "bfly", "idx" };
        bool is_sync = statement_has(s, "sync");
        struct slot d, a, b, c, members = { 0 }, *list = NULL;
        struct insn *i;

        if (s->operand_count != (is_sync ? 5u : 4u))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], TYPE_B32, &a) ||
            !body_source(p, &s->operands[2], TYPE_B32, &b) ||
            !body_source(p, &s->operands[3], TYPE_B32, &c) ||
            (is_sync && !body_source(p, &s->operands[4], TYPE_B32, &members)) ||
            !body_destination(p, &s->operands[0], TYPE_B32, &d))
                return false;
        if (s->operands[0].has_second) {
                list = body_own(p, sizeof *list);
                if (!list)
                        return false;
                *list = s->operands[0].second;
        }
        i = body_emit(p, shuffle);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->b = b;
        i->c = c;
        i->d2 = members;
        i->list = list;
        i->count = list != NULL;
        i->is_flagged = is_sync;
        for (unsigned n = 0; n < 4; n++)
                if (statement_has(s, modes[n]))
                        i->mode = (uint8_t)n;
        return true;
}

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static void vote(struct warp *w, const struct insn *i)
{
        uint32_t bits, members = members_read(w, i);
        bool is_true;

        if (!warp_gather(w, members))
                return;
        members &= w->exec;
        bits = predicate_get(w, i->a) & members;
        if (i->mode == VOTE_BALLOT) {
                uint32_t mask = w->exec;

                while (mask)
                        lane_put(w, i->d, lane_next(&mask), bits);
                return;
        }
        is_true = i->mode == VOTE_ALL   ? bits == members
                  : i->mode == VOTE_ANY ? bits != 0
                                        : bits == 0 || bits == members;
        predicate_put(w, i->d, is_true ? ALL_LANES : 0);
}

static bool decode_vote(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        static const char *const modes[] = { "all", "any", "uni", "ballot" };
        bool is_sync = statement_has(s, "sync"), is_ballot = statement_has(s, "ballot");
        struct slot d, a, members = { 0 };
        struct insn *i;

        if (s->operand_count != (is_sync ? 3u : 2u))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!body_predicate(p, &s->operands[1], false, &a) ||
            (is_sync && !body_source(p, &s->operands[2], TYPE_B32, &members)) ||
            !(is_ballot ? body_destination(p, &s->operands[0], TYPE_B32, &d)
                        : body_predicate(p, &s->operands[0], true, &d)))
                return false;
        i = body_emit(p, vote);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->d2 = members;
        i->is_flagged = is_sync;
        for (unsigned n = 0; n < 4; n++)
                if (statement_has(s, modes[n]))
                        i->mode = (uint8_t)n;
        return true;
}

static void match(struct warp *w, const struct insn *i)
{
        uint32_t mask, all = 0, results[LANES] = { 0 };
        bool is_uniform = true;

        if (!warp_gather(w, members_read(w, i)))
                return;
        mask = w->exec;
        while (mask) {
                uint32_t l = lane_next(&mask), others = w->exec;

                all |= 1u << l;
                while (others) {
                        uint32_t k = lane_next(&others);

                        if (lane_get(w, i->a, k) == lane_get(w, i->a, l))
                                results[l] |= 1u << k;
                        else
                                is_uniform = false;
                }
        }
        mask = w->exec;
        while (mask) {
                uint32_t l = lane_next(&mask);

                lane_put(w, i->d, l, i->mode ? (is_uniform ? all : 0) : results[l]);
        }
        if (i->count)
                predicate_put(w, i->list[0], is_uniform ? ALL_LANES : 0);
}

static bool decode_match(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        enum type type = statement_type(s, 0);
        struct slot d, a, members, *list = NULL;
        struct insn *i;

        if (s->operand_count != 3)
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], type, &a) ||
            !body_source(p, &s->operands[2], TYPE_B32, &members) ||
            !body_destination(p, &s->operands[0], TYPE_B32, &d))
                return false;
        if (s->operands[0].has_second) {
                list = body_own(p, sizeof *list);
                if (!list)
                        return false;
                *list = s->operands[0].second;
        }
        i = body_emit(p, match);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->d2 = members;
        i->list = list;
        i->count = list != NULL;
        i->mode = statement_has(s, "all");
        i->is_flagged = true;
        return true;
}

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };

static uint32_t redux_step(uint32_t x, uint32_t y, unsigned mode, bool is_signed)
{
        bool is_less = is_signed ? (int32_t)x < (int32_t)y : x < y;

        switch (mode) {
        case REDUX_ADD:
                return x + y;
        case REDUX_MIN:
                return is_less ? x : y;
        case REDUX_MAX:
                return is_less ? y : x;
        case REDUX_AND:
                return x & y;
        case REDUX_OR:
                return x | y;
        default:
                return x ^ y;
        }
}

static void redux(struct warp *w, const struct insn *i)
{
        uint32_t mask, value = 0;
        bool is_first = true;

        if (!warp_gather(w, members_read(w, i)))
                return;
        mask = w->exec;
        while (mask) {
                uint32_t x = (uint32_t)lane_get(w, i->a, lane_next(&mask));

                value = is_first ? x : redux_step(value, x, i->mode, i->type == TYPE_S32);
                is_first = false;
        }
        mask = w->exec;
        while (mask)
                lane_put(w, i->d, lane_next(&mask), value);
}

static bool decode_redux(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        static const char *const modes[] = { "add", "min", "max", "and", "or", "xor" };
        enum type type = statement_type(s, 0);
        struct slot d, a, members;
        struct insn *i;

        if (s->operand_count != 3 || type_width(type) != 4 || type_is_float(type))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], type, &a) ||
            !body_source(p, &s->operands[2], TYPE_B32, &members) ||
            !body_destination(p, &s->operands[0], type, &d))
                return false;
        i = body_emit(p, redux);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->d2 = members;
        i->type = (uint8_t)type;
        i->is_flagged = true;
        for (unsigned n = 0; n < 6; n++)
                if (statement_has(s, modes[n]))
                        i->mode = (uint8_t)n;
        return true;
}

static void activemask(struct warp *w, const struct insn *i)
{
        uint32_t mask = w->exec;

        while (mask)
                lane_put(w, i->d, lane_next(&mask), w->exec);
}

static bool decode_activemask(struct parser *p, const struct statement *s,
                              const struct opcode *opcode)
{
        struct slot d;
        struct insn *i;

        (void)opcode;
        if (s->operand_count != 1 || !body_destination(p, &s->operands[0], TYPE_B32, &d))
                return false;
        i = body_emit(p, activemask);
        if (!i)
                return false;
        i->d = d;
        return true;
}

static void elect(struct warp *w, const struct insn *i)
{
        uint32_t mask, leader;

        if (!warp_gather(w, members_read(w, i)))
                return;
        mask = w->exec;
        leader = (uint32_t)__builtin_ctz(mask);
        if (i->is_approximate)
                while (mask)
                        lane_put(w, i->d, lane_next(&mask), leader);
        predicate_put(w, i->a, 1u << leader);
}

/* elect.sync d|p, members; d may be _ */
static bool decode_elect(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct slot d = { 0 }, members;
        struct insn *i;

        if (s->operand_count != 2 || !s->operands[0].has_second)
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], TYPE_B32, &members) ||
            !body_destination(p, &s->operands[0], TYPE_B32, &d))
                return false;
        i = body_emit(p, elect);
        if (!i)
                return false;
        i->d = d;
        i->a = s->operands[0].second;
        i->d2 = members;
        i->is_flagged = true;
        i->is_approximate = s->operands[0].kind == OPERAND_REGISTER;
        return true;
}

static bool decode_nothing(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        (void)p, (void)s, (void)opcode;
        return true;
}

const struct opcode opcodes_warp[] = {
        { "shfl", decode_shfl, NULL, NULL, 0 },
        { "vote", decode_vote, NULL, NULL, 0 },
        { "match", decode_match, NULL, NULL, 0 },
        { "redux", decode_redux, NULL, NULL, 0 },
        { "activemask", decode_activemask, NULL, NULL, 0 },
        { "elect", decode_elect, NULL, NULL, 0 },
        { "pmevent", decode_nothing, NULL, NULL, 0 },
        { "setmaxnreg", decode_nothing, NULL, NULL, 0 },
        { "griddepcontrol", decode_nothing, NULL, NULL, 0 },
        { NULL, NULL, NULL, NULL, 0 },
};
