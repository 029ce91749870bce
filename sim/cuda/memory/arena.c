/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of address space and the look-up from an address to what lies there. */
#include "arena.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scope.h"

#define CHUNK_SHIFT 34 /* 16 GiB */
#define CHUNK_BYTES (UINT64_C(1) << CHUNK_SHIFT)
#define LOW_BASE    UINT64_C(0x20000000)
#define LOW_BYTES   UINT64_C(0x50000000) /* ASan keeps its shadow at 2 GiB */
#define ADDRESS_END (UINT64_C(1) << 47)
enum { CHUNK_SLOTS = 1 << (47 - CHUNK_SHIFT), MAP_SLAB = 16 };

static struct {
        pthread_mutex_t lock;
        struct carve carve[ARENA_KINDS];             /* free pages */
        struct page_map *maps;                       /* spare */
        _Atomic(struct chunk *) chunks[CHUNK_SLOTS]; /* by address / CHUNK_BYTES */
} arena = { .lock = PTHREAD_MUTEX_INITIALIZER };

void arena_lock(void)
{
        pthread_mutex_lock(&arena.lock);
}

void arena_unlock(void)
{
        pthread_mutex_unlock(&arena.lock);
}

static void *reserve(size_t size, int protection)
{
        void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        return at == MAP_FAILED ? NULL : at;
}

/* `size` bytes at a multiple of `align`. */
static char *reserve_aligned(size_t size, size_t align, int protection)
{
        char *at = reserve(size + align, protection);

        if (!at)
                return NULL;
        char *start = (char *)(((uintptr_t)at + align - 1) & ~(align - 1));
        size_t head = (size_t)(start - at);
        if (head)
                munmap(at, head);
        munmap(start + size, align - head);
        return start;
}

static char *reserve_low(size_t size)
{
        char *at = mmap((void *)LOW_BASE, size, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

        if (at != MAP_FAILED && at != (char *)LOW_BASE) {
                munmap(at, size);
                return NULL;
        }
        return at == MAP_FAILED ? NULL : at;
}

/* Contents are touched here and there: huge pages would make each touch cost 2 MiB. */
static char *reserve_contents(size_t size)
{
        char *bytes = reserve_aligned(size, PAGE_BYTES, PROT_READ | PROT_WRITE);

        if (bytes)
                madvise(bytes, size, MADV_NOHUGEPAGE);
        return bytes;
}

/* Growing a file beyond the program's limit would end the program by a signal. */
static bool file_may_have(size_t size)
{
        struct rlimit limit;

        return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= size;
}

/* The same bytes at both addresses. A child of the process has neither, as on hardware. */
static bool map_twice(char *front, char *bytes, size_t size)
{
        autoclose int fd = memfd_create("vgpu-managed", MFD_CLOEXEC);

        if (fd < 0 || !file_may_have(size) || ftruncate(fd, (off_t)size) < 0)
                return false;
        for (int i = 0; i < 2; i++) {
                char *at = i ? front : bytes;
                if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                         fd, 0) == MAP_FAILED)
                        return false;
                madvise(at, size, MADV_DONTFORK);
        }
        return true;
}

/* Managed memory without a second mapping still works; the host's accesses go unnoticed. */
static char *reserve_twin(char *front, size_t size)
{
        char *bytes = reserve_aligned(size, PAGE_BYTES, PROT_NONE);

        if (bytes && map_twice(front, bytes, size))
                return bytes;
        if (bytes)
                munmap(bytes, size);
        return front;
}

static char *chunk_reserve_front(const struct chunk *chunk)
{
        bool is_host = chunk->kind == ARENA_DIRECT || chunk->kind == ARENA_MANAGED;

        if (chunk->kind == ARENA_LOW)
                return reserve_low(chunk->size);
        return reserve_aligned(chunk->size, CHUNK_BYTES,
                               is_host ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static char *chunk_reserve_bytes(const struct chunk *chunk, char *front)
{
        switch (chunk->kind) {
        case ARENA_DIRECT:
                return front;
        case ARENA_MANAGED:
                return reserve_twin(front, chunk->size);
        default:
                return reserve_contents(chunk->size);
        }
}

static bool chunk_reserve(struct chunk *chunk)
{
        char *front = chunk_reserve_front(chunk);

        if (!front)
                return false;
        if ((uintptr_t)front + chunk->size > ADDRESS_END) {
                munmap(front, chunk->size);
                return false;
        }
        chunk->base = (CUdeviceptr)(uintptr_t)front;
        chunk->bytes = chunk_reserve_bytes(chunk, front);
        chunk->pages =
                reserve(chunk->size / PAGE_BYTES * sizeof *chunk->pages, PROT_READ | PROT_WRITE);
        if (chunk->bytes && chunk->pages)
                return true;
        if (chunk->bytes && chunk->bytes != front)
                munmap(chunk->bytes, chunk->size);
        munmap(front, chunk->size);
        return false;
}

/* A new chunk of `count` pages, as one piece in use. */
static struct piece *arena_grow(enum arena_kind kind, uint32_t count)
{
        size_t size = (count * PAGE_BYTES + CHUNK_BYTES - 1) & ~(CHUNK_BYTES - 1);

        if (kind == ARENA_LOW) {
                if (atomic_load(&arena.chunks[0]) || count * PAGE_BYTES > LOW_BYTES)
                        return NULL;
                size = LOW_BYTES;
        }
        struct chunk *chunk = malloc(sizeof *chunk);
        if (!chunk)
                return NULL;
        *chunk = (struct chunk){ .kind = kind, .size = size };
        if (!chunk_reserve(chunk)) {
                free(chunk);
                return NULL;
        }
        for (size_t at = 0; at < size; at += CHUNK_BYTES)
                atomic_store(&arena.chunks[(chunk->base + at) >> CHUNK_SHIFT], chunk);
        return piece_new(chunk, 0, (uint32_t)(size / PAGE_BYTES));
}

/* Cuts the piece in use to [skip, skip + count) and frees the rest. */
static struct piece *arena_trim(struct carve *carve, struct piece *run, uint32_t skip,
                                uint32_t count)
{
        struct piece *front = NULL;

        if (skip) {
                front = run;
                run = carve_split(front, skip);
                if (!run) {
                        carve_give(carve, front);
                        return NULL;
                }
                carve_give(carve, front);
        }
        if (run->count > count) {
                struct piece *remainder = carve_split(run, count);
                if (!remainder) {
                        carve_give(carve, run);
                        return NULL;
                }
                carve_give(carve, remainder);
        }
        return run;
}

struct piece *arena_take(enum arena_kind kind, uint32_t count, uint32_t align_pages)
{
        struct carve *carve = &arena.carve[kind];
        uint32_t slack = align_pages > 1 ? align_pages - 1 : 0;
        struct piece *run;

        if (!count || count > ADDRESS_END / PAGE_BYTES - slack)
                return NULL;
        run = carve_take(carve, count + slack);
        if (!run)
                run = arena_grow(kind, count + slack);
        if (!run)
                return NULL;
        uint64_t number = run_address(run) / PAGE_BYTES;
        uint32_t skip = slack ? (uint32_t)(((number + slack) & ~(uint64_t)slack) - number) : 0;
        return arena_trim(carve, run, skip, count);
}

struct piece *arena_take_at(CUdeviceptr address, uint32_t count)
{
        struct chunk *chunk =
                address < ADDRESS_END ? atomic_load(&arena.chunks[address >> CHUNK_SHIFT]) : NULL;

        if (!chunk || address & PAGE_MASK)
                return NULL;
        for (unsigned bin = 0; bin < CARVE_BINS; bin++) {
                struct piece *run = arena.carve[chunk->kind].bins[bin];
                for (; run; run = run->next) {
                        uint64_t end = run_address(run) + run->count * PAGE_BYTES;
                        if (run_chunk(run) != chunk || address < run_address(run) ||
                            address >= end || (end - address) / PAGE_BYTES < count)
                                continue;
                        carve_remove(&arena.carve[chunk->kind], run);
                        return arena_trim(&arena.carve[chunk->kind], run,
                                          (uint32_t)((address - run_address(run)) / PAGE_BYTES),
                                          count);
                }
        }
        return NULL;
}

void arena_give(struct piece *run)
{
        carve_give(&arena.carve[run_chunk(run)->kind], run);
}

struct page *arena_page(CUdeviceptr address)
{
        struct chunk *chunk;

        if (address >= ADDRESS_END)
                return NULL;
        chunk = atomic_load_explicit(&arena.chunks[address >> CHUNK_SHIFT], memory_order_acquire);
        if (!chunk || address - chunk->base >= chunk->size)
                return NULL;
        return &chunk->pages[(address - chunk->base) / PAGE_BYTES];
}

char *arena_bytes(CUdeviceptr address)
{
        struct chunk *chunk = atomic_load(&arena.chunks[address >> CHUNK_SHIFT]);

        return chunk->bytes + (address - chunk->base);
}

/* The last piece that begins in the page at or before the unit. */
static struct piece *map_find(struct page_map *map, unsigned unit)
{
        unsigned word = unit / 64;
        uint64_t bits = atomic_load_explicit(&map->starts[word], memory_order_acquire) &
                        (~UINT64_C(0) >> (63 - unit % 64));

        while (!bits && word)
                bits = atomic_load_explicit(&map->starts[--word], memory_order_acquire);
        if (!bits)
                return NULL;
        unsigned start = word * 64 + 63 - (unsigned)__builtin_clzll(bits);
        return atomic_load_explicit(&map->pieces[start], memory_order_acquire);
}

struct piece *arena_find(CUdeviceptr address)
{
        struct page *page = arena_page(address);

        if (!page)
                return NULL;
        struct page_map *map = atomic_load_explicit(&page->map, memory_order_acquire);
        struct piece *piece =
                map ? map_find(map, (unsigned)((address & PAGE_MASK) / UNIT_BYTES)) : NULL;
        return piece ? piece : atomic_load_explicit(&page->cover, memory_order_acquire);
}

static struct page_map *map_new(void)
{
        if (!arena.maps) {
                struct page_map *slab = reserve(MAP_SLAB * sizeof *slab, PROT_READ | PROT_WRITE);
                if (!slab)
                        return NULL;
                for (unsigned i = 0; i < MAP_SLAB; i++) {
                        slab[i].next = arena.maps;
                        arena.maps = &slab[i];
                }
        }
        struct page_map *map = arena.maps;
        arena.maps = map->next;
        return map;
}

static bool map_insert(struct page *page, struct piece *piece, unsigned unit)
{
        struct page_map *map = atomic_load_explicit(&page->map, memory_order_relaxed);

        if (!map) {
                map = map_new();
                if (!map)
                        return false;
                atomic_store_explicit(&page->map, map, memory_order_release);
        }
        atomic_store_explicit(&map->pieces[unit], piece, memory_order_release);
        atomic_fetch_or_explicit(&map->starts[unit / 64], UINT64_C(1) << unit % 64,
                                 memory_order_release);
        return true;
}

bool arena_publish(struct piece *piece, CUdeviceptr base, size_t length)
{
        struct page *page = arena_page(base);
        unsigned unit = (unsigned)((base & PAGE_MASK) / UNIT_BYTES);
        uint64_t pages = ((base & PAGE_MASK) + length + PAGE_MASK) / PAGE_BYTES;

        if (unit && !map_insert(page, piece, unit))
                return false;
        for (uint64_t i = unit ? 1 : 0; i < pages; i++)
                atomic_store_explicit(&page[i].cover, piece, memory_order_release);
        return true;
}

void arena_withdraw(struct piece *piece, CUdeviceptr base, size_t length)
{
        struct page *page = arena_page(base);
        unsigned unit = (unsigned)((base & PAGE_MASK) / UNIT_BYTES);
        uint64_t pages = ((base & PAGE_MASK) + length + PAGE_MASK) / PAGE_BYTES;

        (void)piece;
        if (unit) {
                struct page_map *map = atomic_load_explicit(&page->map, memory_order_relaxed);
                atomic_fetch_and_explicit(&map->starts[unit / 64], ~(UINT64_C(1) << unit % 64),
                                          memory_order_release);
        }
        for (uint64_t i = unit ? 1 : 0; i < pages; i++)
                atomic_store_explicit(&page[i].cover, NULL, memory_order_release);
}

void arena_forget(struct page *pages, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                struct page_map *map = atomic_load_explicit(&pages[i].map, memory_order_relaxed);
                if (!map)
                        continue;
                atomic_store(&pages[i].map, NULL);
                map->next = arena.maps;
                arena.maps = map;
        }
}
