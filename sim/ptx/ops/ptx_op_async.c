/* SPDX-License-Identifier: Apache-2.0 */
/* cp.async: copies are done at once, so that waiting for them is nothing. */
#include "ptx_ops.h"

/* cp.async.cg.shared.global [d], [a], size{, source size} */
static void copy(struct warp *w, const struct insn *i)
{
        uint32_t size = (uint32_t)i->immediate, mask = w->exec;

        while (mask) {
                uint32_t l = lane_next(&mask);
                uint64_t to = lane_get(w, i->d, l) + (uint64_t)i[1].immediate;
                uint64_t from = lane_get(w, i->a, l) + (uint64_t)i[2].immediate;
                uint32_t taken = i->is_flagged ? (uint32_t)lane_get(w, i->b, l) : size;
                unsigned char *d = memory_reach(w, &i[1], l, to, size, true);
                const unsigned char *a =
                        d && taken ? memory_reach(w, &i[2], l, from, size, false) : NULL;

                if (!d || (taken && !a))
                        return;
                if (taken > size)
                        taken = size;
                memset(d, 0, size);
                if (taken)
                        memcpy(d, a, taken);
        }
}

static void nothing(struct warp *w, const struct insn *i)
{
        (void)w, (void)i;
}

/* Two more entries follow the copy: they carry the addresses' spaces and offsets for it. */
static bool decode_copy(struct parser *p, const struct statement *s)
{
        struct slot d, a, b = { 0 };
        int64_t to, from;
        bool has_size = s->operand_count == 4 && s->operands[3].kind != OPERAND_NAME;
        struct insn *i;

        if (s->operand_count < 3 || s->operands[2].kind != OPERAND_INTEGER ||
            (s->operands[2].bits != 4 && s->operands[2].bits != 8 && s->operands[2].bits != 16))
                return body_unsupported(p, "line %u: cp.async of this form", s->line);
        if (!body_address(p, &s->operands[0], &d, &to) ||
            !body_address(p, &s->operands[1], &a, &from) ||
            (has_size && !body_source(p, &s->operands[3], TYPE_U32, &b)))
                return false;
        for (int n = 0; n < 3; n++) {
                i = body_emit(p, n == 0 ? copy : nothing);
                if (!i)
                        return false;
                i->d = d;
                i->a = a;
                i->b = b;
                i->is_flagged = has_size;
                i->immediate = n == 0 ? (int64_t)s->operands[2].bits : n == 1 ? to : from;
                i->space = n == 1 ? SPACE_SHARED : SPACE_GLOBAL;
        }
        return true;
}

static bool decode_cp(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        (void)opcode;
        if (!statement_has(s, "async") || statement_has(s, "bulk") || statement_has(s, "mbarrier"))
                return body_unsupported(p, "line %u: cp of this form", s->line);
        if (statement_has(s, "commit_group") || statement_has(s, "wait_group") ||
            statement_has(s, "wait_all"))
                return true;
        return decode_copy(p, s);
}

const struct opcode opcodes_async[] = {
        { "cp", decode_cp, NULL, NULL, 0 },
        { NULL, NULL, NULL, NULL, 0 },
};
