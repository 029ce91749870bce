/* SPDX-License-Identifier: Apache-2.0 */
/* Carving: cuts pieces of wanted length out of areas, and joins them again when they are given
 * back, each in constant time. Lengths are in units; what a unit is, is the caller's business.
 * Nothing is locked here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "memory_allocation.h"

enum { CARVE_BINS = 64 };

/* A part of an area, in use or free. Pieces are recycled and never unmapped, so that a reader
 * without the lock never touches foreign memory. */
struct piece {
        struct allocation allocation; /* first: one is the other's address */
        void *home;                   /* the area it is cut from */
        uint32_t start, count;
        bool is_free;
        struct piece *before, *after;  /* neighbours in the area */
        struct piece *next, *previous; /* in its bin while free; for the owner's use otherwise */
};

struct carve {
        uint64_t filled; /* bins that are not empty, one bit each */
        struct piece *bins[CARVE_BINS];
};

/* NULL: no memory. */
struct piece *piece_new(void *home, uint32_t start, uint32_t count);
void piece_free(struct piece *piece);

/* A free piece of at least `count` units, taken out and cut to size; NULL: there is none, or no
 * memory for the rest. */
struct piece *carve_take(struct carve *carve, uint32_t count);
/* Cuts `count` units off the front of a piece in use; the rest becomes a piece of its own, in use.
 * NULL: no memory. */
struct piece *carve_split(struct piece *piece, uint32_t count);
/* Makes it free and joins it with free neighbours. Returns the joined piece. */
struct piece *carve_give(struct carve *carve, struct piece *piece);
/* Takes a free piece out of its bin, whole. */
void carve_remove(struct carve *carve, struct piece *piece);
