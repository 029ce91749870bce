/* SPDX-License-Identifier: Apache-2.0 */
/* Carving: segregated bins of free pieces, two per power of two. */
#include "carve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PIECE_SLAB = 512, CARVE_TRIES = 8 };

/* Spare pieces, linked through `next`. */
static struct piece *spare;

static bool piece_refill(void)
{
        struct piece *slab = mmap(NULL, PIECE_SLAB * sizeof *slab, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (slab == MAP_FAILED)
                return false;
        for (unsigned i = 0; i < PIECE_SLAB; i++) {
                slab[i].next = spare;
                spare = &slab[i];
        }
        return true;
}

struct piece *piece_new(void *home, uint32_t start, uint32_t count)
{
        if (!spare && !piece_refill())
                return NULL;

        struct piece *piece = spare;
        spare = piece->next;
        memset(&piece->allocation, 0, sizeof piece->allocation);
        piece->home = home;
        piece->start = start;
        piece->count = count;
        piece->is_free = false;
        piece->before = piece->after = piece->next = piece->previous = NULL;
        return piece;
}

void piece_free(struct piece *piece)
{
        piece->home = NULL;
        piece->next = spare;
        spare = piece;
}

/* The bin of pieces of this length: the exponent and the bit after the leading one. */
static unsigned bin_of(uint32_t count)
{
        unsigned exponent = 31u - (unsigned)__builtin_clz(count);

        return exponent ? 2 * exponent + ((count >> (exponent - 1)) & 1) : 0;
}

static void bin_insert(struct carve *carve, struct piece *piece)
{
        unsigned bin = bin_of(piece->count);

        piece->previous = NULL;
        piece->next = carve->bins[bin];
        if (piece->next)
                piece->next->previous = piece;
        carve->bins[bin] = piece;
        carve->filled |= UINT64_C(1) << bin;
        piece->is_free = true;
}

void carve_remove(struct carve *carve, struct piece *piece)
{
        unsigned bin = bin_of(piece->count);

        if (piece->previous)
                piece->previous->next = piece->next;
        else
                carve->bins[bin] = piece->next;
        if (piece->next)
                piece->next->previous = piece->previous;
        if (!carve->bins[bin])
                carve->filled &= ~(UINT64_C(1) << bin);
        piece->next = piece->previous = NULL;
        piece->is_free = false;
}

/* In the bin of the length itself some pieces fit; in every higher bin all do. */
static struct piece *carve_find(struct carve *carve, uint32_t count)
{
        unsigned bin = bin_of(count);
        struct piece *piece = carve->bins[bin];

        for (unsigned i = 0; piece && i < CARVE_TRIES; i++, piece = piece->next)
                if (piece->count >= count)
                        return piece;
        if (bin + 1 >= CARVE_BINS)
                return NULL;
        uint64_t higher = carve->filled & (~UINT64_C(0) << (bin + 1));
        return higher ? carve->bins[__builtin_ctzll(higher)] : NULL;
}

struct piece *carve_split(struct piece *piece, uint32_t count)
{
        struct piece *remainder =
                piece_new(piece->home, piece->start + count, piece->count - count);

        if (!remainder)
                return NULL;
        remainder->before = piece;
        remainder->after = piece->after;
        if (remainder->after)
                remainder->after->before = remainder;
        piece->after = remainder;
        piece->count = count;
        return remainder;
}

struct piece *carve_take(struct carve *carve, uint32_t count)
{
        struct piece *piece = carve_find(carve, count);

        if (!piece)
                return NULL;
        carve_remove(carve, piece);
        if (piece->count > count) {
                struct piece *remainder = carve_split(piece, count);
                if (!remainder) {
                        bin_insert(carve, piece);
                        return NULL;
                }
                bin_insert(carve, remainder);
        }
        return piece;
}

/* `right` follows `left`; it disappears into it. */
static void carve_join(struct piece *left, struct piece *right)
{
        left->count += right->count;
        left->after = right->after;
        if (left->after)
                left->after->before = left;
        piece_free(right);
}

struct piece *carve_give(struct carve *carve, struct piece *piece)
{
        struct piece *before = piece->before;
        struct piece *after = piece->after;

        if (after && after->is_free) {
                carve_remove(carve, after);
                carve_join(piece, after);
        }
        if (before && before->is_free) {
                carve_remove(carve, before);
                carve_join(before, piece);
                piece = before;
        }
        bin_insert(carve, piece);
        return piece;
}
