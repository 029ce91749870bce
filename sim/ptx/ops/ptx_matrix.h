/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of matrix fragments: how a lane's registers hold them. */
#pragma once

#include "ptx_ops.h"

#define TILE 32u /* the longest side of any fragment */

/* Element `n` of a lane's registers, each holding as many of `type` as fit. */
double element_get(const struct warp *w, const struct slot *list, uint32_t lane, unsigned n,
                   enum type type);
void element_put(struct warp *w, const struct slot *list, uint32_t lane, unsigned n, enum type type,
                 double value);
unsigned elements_per_register(enum type type); /* 0: not a matrix type */
bool shape_find(const struct statement *s, unsigned *ret_m, unsigned *ret_n, unsigned *ret_k);
/* Takes a vector operand's registers, all as wide as the type's (at least 32 bits). */
bool fragment_slots(struct parser *p, const struct operand *o, enum type type, unsigned count,
                    struct slot *ret);

struct tile {
        double at[TILE][TILE];
};
/* d = a × b + c for sides m, n, k; integers wrap to 32 bits or clamp. */
void tile_multiply(struct tile *d, const struct tile *a, const struct tile *b,
                   const unsigned mnk[3], enum type type, bool is_saturating);
