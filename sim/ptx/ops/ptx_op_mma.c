/* SPDX-License-Identifier: Apache-2.0 */
/* mma, ldmatrix, stmatrix, movmatrix: matrices spread over a warp as the manual lays them out. */
#include "ptx_matrix.h"

/* Everything a mma needs; registers in the order d, a, b, c. */
struct mma {
        unsigned mnk[3];
        enum type a, b, c, d;
        struct slot d_list[16], a_list[16], b_list[16], c_list[16];
};

enum operand_role { ROLE_A, ROLE_B, ROLE_C };

/* Where element n of a lane's registers lies: lanes form eight groups of four. */
static void element_position(const struct mma *mma, enum operand_role role, uint32_t lane,
                             unsigned n, unsigned *ret_row, unsigned *ret_column)
{
        unsigned group = lane / 4, member = lane % 4, halves = mma->mnk[0] / 8;
        unsigned per = elements_per_register(role == ROLE_A ? mma->a : mma->b);

        if (role == ROLE_A) {
                unsigned reg = n / per;

                *ret_row = group + reg % halves * 8;
                *ret_column = member * per + n % per + reg / halves * 4 * per;
        } else if (role == ROLE_B) {
                *ret_row = member * per + n % per + n / per * 4 * per;
                *ret_column = group;
        } else {
                *ret_row = group + n / 2 * 8;
                *ret_column = member * 2 + n % 2;
        }
}

static void tile_load(const struct warp *w, const struct mma *mma, enum operand_role role,
                      struct tile *ret)
{
        const struct slot *list = role == ROLE_A   ? mma->a_list
                                  : role == ROLE_B ? mma->b_list
                                                   : mma->c_list;
        enum type type = role == ROLE_A ? mma->a : role == ROLE_B ? mma->b : mma->c;
        unsigned count = role == ROLE_A   ? mma->mnk[0] * mma->mnk[2] / LANES
                         : role == ROLE_B ? mma->mnk[1] * mma->mnk[2] / LANES
                                          : mma->mnk[0] * mma->mnk[1] / LANES;

        for (uint32_t lane = 0; lane < LANES; lane++)
                for (unsigned n = 0; n < count; n++) {
                        unsigned at, column;

                        element_position(mma, role, lane, n, &at, &column);
                        ret->at[at][column] = element_get(w, list, lane, n, type);
                }
}

static void mma_run(struct warp *w, const struct insn *i)
{
        const struct mma *mma = i->detail;
        struct tile a, b, d;

        if (!warp_gather(w, ALL_LANES))
                return;
        tile_load(w, mma, ROLE_A, &a);
        tile_load(w, mma, ROLE_B, &b);
        tile_load(w, mma, ROLE_C, &d);
        tile_multiply(&d, &a, &b, mma->mnk, mma->d, i->is_saturating);
        for (uint32_t lane = 0; lane < LANES; lane++)
                for (unsigned n = 0; n < mma->mnk[0] * mma->mnk[1] / LANES && w->exec >> lane & 1;
                     n++) {
                        unsigned at, column;

                        element_position(mma, ROLE_C, lane, n, &at, &column);
                        element_put(w, mma->d_list, lane, n, mma->d, d.at[at][column]);
                }
}

static unsigned registers_of(unsigned elements, enum type type)
{
        return elements / LANES / elements_per_register(type);
}

/* mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c; */
static bool mma_types(const struct statement *s, struct mma *mma)
{
        mma->d = statement_type(s, 0);
        mma->a = statement_type(s, 1);
        mma->b = statement_type(s, 2);
        mma->c = statement_type(s, 3);
        return shape_find(s, &mma->mnk[0], &mma->mnk[1], &mma->mnk[2]) &&
               elements_per_register(mma->a) &&
               elements_per_register(mma->a) == elements_per_register(mma->b) &&
               elements_per_register(mma->c) && elements_per_register(mma->d) &&
               mma->mnk[2] >= 4 * elements_per_register(mma->a) && mma->mnk[1] == 8 &&
               mma->mnk[0] <= 16 && mma->d != TYPE_S8 && mma->c != TYPE_S8 && mma->d != TYPE_U8 &&
               mma->c != TYPE_U8 &&
               (mma->mnk[0] == 16 || mma->a == TYPE_F64 || mma->a == TYPE_S8 || mma->a == TYPE_U8);
}

static bool decode_mma(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct mma *mma = body_own(p, sizeof *mma);
        unsigned m, n, k;
        struct insn *i;

        if (!mma)
                return false;
        if (s->operand_count != 4 || !mma_types(s, mma) || !statement_has(s, "row") ||
            !statement_has(s, "col") || statement_has(s, "sp") || statement_has(s, "xor"))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        m = mma->mnk[0], n = mma->mnk[1], k = mma->mnk[2];
        if (!fragment_slots(p, &s->operands[0], mma->d, registers_of(m * n, mma->d), mma->d_list) ||
            !fragment_slots(p, &s->operands[1], mma->a, registers_of(m * k, mma->a), mma->a_list) ||
            !fragment_slots(p, &s->operands[2], mma->b, registers_of(n * k, mma->b), mma->b_list) ||
            !fragment_slots(p, &s->operands[3], mma->c, registers_of(m * n, mma->c), mma->c_list))
                return false;
        i = body_emit(p, mma_run);
        if (!i)
                return false;
        i->detail = mma;
        i->is_saturating = statement_has(s, "satfinite");
        return true;
}

/* Eight rows of eight 16-bit elements; lanes 8j … 8j+7 name the rows of matrix j. */
static bool matrix_move(struct warp *w, const struct insn *i, unsigned matrix, uint16_t tile[8][8],
                        bool is_store)
{
        for (uint32_t at = 0; at < 8; at++) {
                uint32_t lane = 8 * matrix + at;
                void *memory = memory_reach(
                        w, i, lane, lane_get(w, i->a, lane) + (uint64_t)i->immediate, 16, is_store);

                if (!memory)
                        return false;
                if (is_store)
                        memcpy(memory, tile[at], 16);
                else
                        memcpy(tile[at], memory, 16);
        }
        return true;
}

/* A lane holds two neighbours of its group's row, or column when transposed. */
static void tile_exchange(struct warp *w, struct slot slot, uint16_t tile[8][8], bool is_transposed,
                          bool is_store)
{
        for (uint32_t lane = 0; lane < LANES; lane++) {
                unsigned group = lane / 4, first = lane % 4 * 2;
                uint16_t *low = is_transposed ? &tile[first][group] : &tile[group][first];
                uint16_t *high = is_transposed ? &tile[first + 1][group] : &tile[group][first + 1];
                uint32_t word = (uint32_t)lane_get(w, slot, lane);

                if (is_store) {
                        *low = (uint16_t)word;
                        *high = (uint16_t)(word >> 16);
                } else if (w->exec >> lane & 1)
                        lane_put(w, slot, lane, *low | (uint32_t)*high << 16);
        }
}

static void matrix_run(struct warp *w, const struct insn *i)
{
        uint16_t tile[8][8];

        if (!warp_gather(w, ALL_LANES))
                return;
        for (unsigned matrix = 0; matrix < i->count; matrix++) {
                if (i->mode)
                        tile_exchange(w, i->list[matrix], tile, i->is_flagged, true);
                if (!matrix_move(w, i, matrix, tile, i->mode))
                        return;
                if (!i->mode)
                        tile_exchange(w, i->list[matrix], tile, i->is_flagged, false);
        }
}

/* ldmatrix {r…}, [a];   stmatrix [a], {r…}; */
static bool decode_matrix(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        bool is_store = opcode->operands == 2;
        unsigned count = statement_has(s, "x4") ? 4 : statement_has(s, "x2") ? 2 : 1;
        struct slot *list = body_own(p, 16 * sizeof *list), base;
        int64_t offset;
        struct insn *i;

        if (!list)
                return false;
        if (s->operand_count != 2 || !statement_has(s, "m8n8") || !statement_has(s, "b16"))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!fragment_slots(p, &s->operands[is_store ? 1 : 0], TYPE_S32, count, list) ||
            !body_address(p, &s->operands[is_store ? 0 : 1], &base, &offset))
                return false;
        i = body_emit(p, matrix_run);
        if (!i)
                return false;
        i->a = base;
        i->immediate = offset;
        i->list = list;
        i->count = (uint8_t)count;
        i->mode = is_store;
        i->is_flagged = statement_has(s, "trans");
        i->space = (uint8_t)space_find(s);
        return true;
}

static void transpose_run(struct warp *w, const struct insn *i)
{
        uint16_t tile[8][8];

        if (!warp_gather(w, ALL_LANES))
                return;
        tile_exchange(w, i->a, tile, false, true);
        tile_exchange(w, i->d, tile, true, false);
}

static bool decode_movmatrix(struct parser *p, const struct statement *s,
                             const struct opcode *opcode)
{
        struct slot d, a;
        struct insn *i;

        if (s->operand_count != 2)
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        if (!body_source(p, &s->operands[1], TYPE_B32, &a) ||
            !body_destination(p, &s->operands[0], TYPE_B32, &d))
                return false;
        i = body_emit(p, transpose_run);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        return true;
}

const struct opcode opcodes_mma[] = {
        { "mma", decode_mma, NULL, NULL, 4 },
        { "ldmatrix", decode_matrix, NULL, NULL, 0 },
        { "stmatrix", decode_matrix, NULL, NULL, 2 },
        { "movmatrix", decode_movmatrix, NULL, NULL, 0 },
        { NULL, NULL, NULL, NULL, 0 },
};
