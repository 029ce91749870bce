/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of matrix fragments, and the multiplication all matrix instructions share. */
#include "ptx_matrix.h"

#include <math.h>

#include "ptx_half.h"

unsigned elements_per_register(enum type type)
{
        switch (type) {
        case TYPE_S8:
        case TYPE_U8:
                return 4;
        case TYPE_F16:
        case TYPE_BF16:
                return 2;
        case TYPE_TF32:
        case TYPE_F32:
        case TYPE_S32:
        case TYPE_F64:
                return 1;
        default:
                return 0;
        }
}

double element_get(const struct warp *w, const struct slot *list, uint32_t lane, unsigned n,
                   enum type type)
{
        unsigned per = elements_per_register(type);
        uint64_t bits = lane_get(w, list[n / per], lane);
        uint32_t word = (uint32_t)bits;
        float single;
        double wide;

        switch (type) {
        case TYPE_S8:
                return (int8_t)(word >> 8 * (n % 4));
        case TYPE_U8:
                return (uint8_t)(word >> 8 * (n % 4));
        case TYPE_F16:
                return half_to_double((uint16_t)(word >> 16 * (n % 2)));
        case TYPE_BF16:
                return (double)bhalf_to_float((uint16_t)(word >> 16 * (n % 2)));
        case TYPE_S32:
                return (int32_t)word;
        case TYPE_F64:
                memcpy(&wide, &bits, sizeof wide);
                return wide;
        case TYPE_TF32:
                word &= 0xffffe000;
                break; /* the rest of the single is not read */
        default:
                break;
        }
        memcpy(&single, &word, sizeof single);
        return (double)single;
}

void element_put(struct warp *w, const struct slot *list, uint32_t lane, unsigned n, enum type type,
                 double value)
{
        unsigned per = elements_per_register(type);
        uint64_t bits = 0, before = per > 1 ? lane_get(w, list[n / per], lane) : 0;
        float single = (float)value;
        unsigned shift = 16 * (n % 2);

        switch (type) {
        case TYPE_F16:
        case TYPE_BF16:
                bits = type == TYPE_F16 ? half_from_double(value, ROUND_NEAREST)
                                        : bhalf_from_float(single, ROUND_NEAREST);
                bits = (before & ~(UINT64_C(0xffff) << shift)) | bits << shift;
                break;
        case TYPE_S8:
        case TYPE_U8:
                shift = 8 * (n % 4);
                bits = (before & ~(UINT64_C(0xff) << shift)) | (uint64_t)((int64_t)value & 0xff)
                                                                       << shift;
                break;
        case TYPE_S32:
                bits = (uint32_t)(int64_t)value;
                break;
        case TYPE_F64:
                memcpy(&bits, &value, sizeof bits);
                break;
        default:
                memcpy(&bits, &single, sizeof single);
        }
        lane_put(w, list[n / per], lane, bits);
}

/* Sums of 8-bit products stay exact in a double; floats are rounded when they are put away. */
static double whole(double sum, bool is_saturating)
{
        if (is_saturating)
                return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        return (double)(int32_t)(uint32_t)(int64_t)sum;
}

void tile_multiply(struct tile *d, const struct tile *a, const struct tile *b,
                   const unsigned mnk[3], enum type type, bool is_saturating)
{
        for (unsigned row_at = 0; row_at < mnk[0]; row_at++)
                for (unsigned column = 0; column < mnk[1]; column++) {
                        double sum = 0;

                        for (unsigned k = 0; k < mnk[2]; k++)
                                sum += a->at[row_at][k] * b->at[k][column];
                        sum += d->at[row_at][column];
                        d->at[row_at][column] = type == TYPE_S32 ? whole(sum, is_saturating) : sum;
                }
}

/* .m16n8k16 */
bool shape_find(const struct statement *s, unsigned *ret_m, unsigned *ret_n, unsigned *ret_k)
{
        static const struct {
                const char *name;
                uint8_t m, n, k;
        } shapes[] = {
                { "m16n8k4", 16, 8, 4 },     { "m16n8k8", 16, 8, 8 },   { "m16n8k16", 16, 8, 16 },
                { "m16n8k32", 16, 8, 32 },   { "m8n8k4", 8, 8, 4 },     { "m8n8k16", 8, 8, 16 },
                { "m16n16k16", 16, 16, 16 }, { "m32n8k16", 32, 8, 16 }, { "m8n32k16", 8, 32, 16 },
                { "m16n16k8", 16, 16, 8 },
        };

        for (unsigned n = 0; n < sizeof shapes / sizeof *shapes; n++)
                if (statement_has(s, shapes[n].name)) {
                        *ret_m = shapes[n].m;
                        *ret_n = shapes[n].n;
                        *ret_k = shapes[n].k;
                        return true;
                }
        return false;
}

bool fragment_slots(struct parser *p, const struct operand *o, enum type type, unsigned count,
                    struct slot *ret)
{
        unsigned width = type == TYPE_F64 ? 8 : 4, given = o->kind == OPERAND_VECTOR ? o->count : 1;

        if (given < count || given > 16)
                return body_unsupported(p, "line %u: a fragment of %u registers",
                                        p->body.statement->line, given);
        for (unsigned n = 0; n < given; n++) {
                const struct operand *one = o->kind == OPERAND_VECTOR ? &o->elements[n] : o;

                if (one->kind != OPERAND_REGISTER || one->slot.width != width)
                        return body_unsupported(p, "line %u: a fragment's register of this size",
                                                p->body.statement->line);
                ret[n] = one->slot;
        }
        return true;
}
