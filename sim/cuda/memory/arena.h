/* SPDX-License-Identifier: Apache-2.0 */
/* Where device memory lives in this process: ranges of whole pages in chunks of address space.
 *
 * A device page has two addresses: the one programs see, which faults on the host, and `bytes`,
 * where the simulator keeps its contents. Both are the same modulo the page size. Managed memory has
 * both too, two mappings of the same bytes; host memory has one address for both. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "carve.h"

#define PAGE_BYTES MACHINE_GRANULE_BYTES
#define PAGE_MASK  (PAGE_BYTES - 1)
#define UNIT_BYTES UINT64_C(512)
enum { PAGE_UNITS = 4096 };

/* Where pieces that begin inside a page are found. */
struct page_map {
        _Atomic uint64_t starts[PAGE_UNITS / 64];
        _Atomic(struct piece *) pieces[PAGE_UNITS];
        struct page_map *next;
};

struct page {
        _Atomic uint64_t state; /* what contents.c knows of the bytes */
        uint32_t pattern;
        _Atomic bool is_pooled;         /* a pool has it: valid even where nothing is allocated */
        _Atomic(struct piece *) cover;  /* the piece in use at the page's first byte */
        _Atomic(struct page_map *) map; /* NULL: no other piece begins in the page */
};

enum arena_kind {
        ARENA_DEVICE,
        ARENA_DIRECT,  /* the host reads and writes it at the same address */
        ARENA_MANAGED, /* the host has it too, at an address of its own: see host_touch.h */
        ARENA_LOW,     /* device memory below 4 GiB, for 32-bit addresses */
        ARENA_KINDS,
};

/* A reservation of address space. Never given back. */
struct chunk {
        CUdeviceptr base;
        size_t size;
        char *bytes;
        struct page *pages;
        enum arena_kind kind;
};

/* Guards everything in arena.c, heap.c and carve.c but look-ups. */
void arena_lock(void);
void arena_unlock(void);

/* A run of `count` pages (start and count of the piece are pages, its home is the chunk); NULL: no
 * address space. `align_pages` is a power of two. With the lock held. */
struct piece *arena_take(enum arena_kind kind, uint32_t count, uint32_t align_pages);
/* The run at exactly this address, if it is free in some chunk; else NULL. */
struct piece *arena_take_at(CUdeviceptr address, uint32_t count);
void arena_give(struct piece *run);

static inline struct chunk *run_chunk(const struct piece *run)
{
        return run->home;
}
static inline CUdeviceptr run_address(const struct piece *run)
{
        return run_chunk(run)->base + run->start * PAGE_BYTES;
}
static inline char *run_bytes(const struct piece *run)
{
        return run_chunk(run)->bytes + run->start * PAGE_BYTES;
}
static inline struct page *run_pages(const struct piece *run)
{
        return run_chunk(run)->pages + run->start;
}

/* The host has it at another address than we do. */
static inline bool run_is_twin(const struct piece *run)
{
        return (uintptr_t)run_chunk(run)->bytes != run_chunk(run)->base;
}

/* The page at an address; NULL: not in an arena. Without the lock. */
struct page *arena_page(CUdeviceptr address);
/* Where the simulator keeps the byte at an address that has a page. */
char *arena_bytes(CUdeviceptr address);
/* The piece whose units contain the address, if it is in use. Without the lock. */
struct piece *arena_find(CUdeviceptr address);
/* Makes a piece that lies at `base`, `length` bytes, the answer of arena_find(); takes it back. The
 * piece begins at a multiple of UNIT_BYTES. False: no memory. */
bool arena_publish(struct piece *piece, CUdeviceptr base, size_t length);
void arena_withdraw(struct piece *piece, CUdeviceptr base, size_t length);
/* Gives back the maps of pages in which nothing is published. */
void arena_forget(struct page *pages, uint32_t count);
