/* SPDX-License-Identifier: Apache-2.0 */
/* wmma: fragments whose layout is the device's own affair; here element n of the matrix, row after
 * row, lies in lane n / (elements of a lane). */
#include "ptx_matrix.h"

struct fragment {
        unsigned rows, columns, per_lane;
        enum type type;
        struct slot list[16];
};

struct wmma {
        unsigned mnk[3];
        struct fragment d, a, b, c;
        bool is_column; /* of a load or store: column after column in memory */
        bool has_stride;
        struct slot base, stride;
        int64_t offset;
};

static bool fragment_make(struct parser *p, const struct statement *s, const struct operand *o,
                          unsigned rows, unsigned columns, enum type type, struct fragment *ret)
{
        unsigned per = elements_per_register(type);

        if (!per || rows * columns % (LANES * per))
                return body_unsupported(p, "line %u: a fragment of this type", s->line);
        ret->rows = rows;
        ret->columns = columns;
        ret->type = type;
        ret->per_lane = rows * columns / LANES;
        return fragment_slots(p, o, type, ret->per_lane / per, ret->list);
}

static void fragment_read(const struct warp *w, const struct fragment *f, struct tile *ret)
{
        for (uint32_t n = 0; n < f->rows * f->columns; n++)
                ret->at[n / f->columns][n % f->columns] =
                        element_get(w, f->list, n / f->per_lane, n % f->per_lane, f->type);
}

static void fragment_write(struct warp *w, const struct fragment *f, const struct tile *tile)
{
        for (uint32_t n = 0; n < f->rows * f->columns; n++)
                element_put(w, f->list, n / f->per_lane, n % f->per_lane, f->type,
                            tile->at[n / f->columns][n % f->columns]);
}

static void multiply_run(struct warp *w, const struct insn *i)
{
        const struct wmma *m = i->detail;
        struct tile a, b, d;

        if (!warp_gather(w, ALL_LANES))
                return;
        fragment_read(w, &m->a, &a);
        fragment_read(w, &m->b, &b);
        fragment_read(w, &m->c, &d);
        tile_multiply(&d, &a, &b, m->mnk, m->d.type, i->is_saturating);
        fragment_write(w, &m->d, &d);
}

static void *element_reach(struct warp *w, const struct insn *i, const struct fragment *f,
                           uint32_t n, unsigned width)
{
        const struct wmma *m = i->detail;
        uint32_t lane = n / f->per_lane;
        uint64_t major = m->is_column ? n % f->columns : n / f->columns;
        uint64_t minor = m->is_column ? n / f->columns : n % f->columns;
        uint64_t stride = m->has_stride  ? (uint32_t)lane_get(w, m->stride, lane)
                          : m->is_column ? f->rows
                                         : f->columns;

        return memory_reach(w, i, lane,
                            lane_get(w, m->base, lane) + (uint64_t)m->offset +
                                    (major * stride + minor) * width,
                            width, i->mode);
}

/* Elements keep their bits: they are moved, not converted. */
static void access_run(struct warp *w, const struct insn *i)
{
        const struct wmma *m = i->detail;
        const struct fragment *f = &m->d;
        unsigned per = elements_per_register(f->type), width = type_width(f->type);

        if (!warp_gather(w, ALL_LANES))
                return;
        for (uint32_t n = 0; n < f->rows * f->columns; n++) {
                uint32_t lane = n / f->per_lane, in_lane = n % f->per_lane;
                unsigned shift = 8 * width * (in_lane % per);
                uint64_t bits = lane_get(w, f->list[in_lane / per], lane), one = 0;
                uint64_t mask = width == 8 ? UINT64_MAX : ((UINT64_C(1) << 8 * width) - 1) << shift;
                void *at = element_reach(w, i, f, n, width);

                if (!at)
                        return;
                if (i->mode) {
                        bits >>= shift;
                        memcpy(at, &bits, width);
                        continue;
                }
                memcpy(&one, at, width);
                lane_put(w, f->list[in_lane / per], lane, (bits & ~mask) | one << shift);
        }
}

/* wmma.load.a.sync.aligned.row.shape.space.type r, [p], stride;  wmma.store.d … [p], r, stride; */
static bool decode_wmma_access(struct parser *p, const struct statement *s, struct wmma *m,
                               bool is_store)
{
        const struct operand *values = &s->operands[is_store ? 1 : 0];
        unsigned rows = statement_has(s, "b") ? m->mnk[2] : m->mnk[0];
        unsigned columns = statement_has(s, "a") ? m->mnk[2] : m->mnk[1];
        struct insn *i;

        if (s->operand_count < 2)
                return body_unsupported(p, "line %u: wmma of this form", s->line);
        m->has_stride = s->operand_count > 2;
        m->is_column = statement_has(s, "col");
        if (!fragment_make(p, s, values, rows, columns, statement_type(s, 0), &m->d) ||
            !body_address(p, &s->operands[is_store ? 0 : 1], &m->base, &m->offset) ||
            (m->has_stride && !body_source(p, &s->operands[2], TYPE_U32, &m->stride)))
                return false;
        i = body_emit(p, access_run);
        if (!i)
                return false;
        i->detail = m;
        i->mode = is_store;
        i->space = (uint8_t)space_find(s);
        return true;
}

/* f16: .dtype.ctype;  others: .dtype.atype.btype.ctype */
static bool decode_wmma_multiply(struct parser *p, const struct statement *s, struct wmma *m)
{
        bool is_short = statement_type(s, 2) == TYPE_NONE;
        enum type d = statement_type(s, 0), c = statement_type(s, is_short ? 1 : 3);
        enum type a = is_short ? TYPE_F16 : statement_type(s, 1);
        enum type b = is_short ? TYPE_F16 : statement_type(s, 2);
        struct insn *i;

        if (s->operand_count != 4 ||
            !fragment_make(p, s, &s->operands[0], m->mnk[0], m->mnk[1], d, &m->d) ||
            !fragment_make(p, s, &s->operands[1], m->mnk[0], m->mnk[2], a, &m->a) ||
            !fragment_make(p, s, &s->operands[2], m->mnk[2], m->mnk[1], b, &m->b) ||
            !fragment_make(p, s, &s->operands[3], m->mnk[0], m->mnk[1], c, &m->c))
                return body_unsupported(p, "line %u: wmma of this form", s->line);
        i = body_emit(p, multiply_run);
        if (!i)
                return false;
        i->detail = m;
        i->is_saturating = statement_has(s, "satfinite");
        return true;
}

static bool decode_wmma(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct wmma *m = body_own(p, sizeof *m);

        if (!m)
                return false;
        if (!shape_find(s, &m->mnk[0], &m->mnk[1], &m->mnk[2]))
                return body_unsupported(p, "line %u: %s of this shape", s->line, opcode->name);
        if (statement_has(s, "mma"))
                return decode_wmma_multiply(p, s, m);
        return decode_wmma_access(p, s, m, statement_has(s, "store"));
}

const struct opcode opcodes_wmma[] = {
        { "wmma", decode_wmma, NULL, NULL, 0 },
        { NULL, NULL, NULL, NULL, 0 },
};
