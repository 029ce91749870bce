/* SPDX-License-Identifier: Apache-2.0 */
/* Heaps: areas of pages, cut into allocations. */
#include "heap.h"

#include <stdlib.h>
#include <unistd.h>

#include "contents.h"
#include "driver.h"
#include "export.h"
#include "shared.h"
#include "unit_memory.h"

uint64_t allocation_number_next(void)
{
        static _Atomic uint64_t numbers;

        return atomic_fetch_add(&numbers, 1) + 1;
}

static struct area *piece_area(const struct piece *piece)
{
        return piece->home;
}

static CUdeviceptr piece_address(const struct piece *piece)
{
        return run_address(piece_area(piece)->run) + piece->start * UNIT_BYTES;
}

static void area_link(struct heap *heap, struct area *area)
{
        area->next = heap->areas;
        if (area->next)
                area->next->previous = area;
        heap->areas = area;
}

static void area_unlink(struct heap *heap, struct area *area)
{
        if (area->previous)
                area->previous->next = area->next;
        else
                heap->areas = area->next;
        if (area->next)
                area->next->previous = area->previous;
}

static CUresult heap_charge(struct heap *heap, uint64_t bytes)
{
        if (!heap->device)
                return CUDA_SUCCESS;
        return unit_charge(&driver.machine, heap->device->unit, driver.slot, bytes)
                       ? CUDA_ERROR_OUT_OF_MEMORY
                       : CUDA_SUCCESS;
}

static void heap_refund(struct heap *heap, uint64_t bytes)
{
        if (heap->device)
                unit_release(&driver.machine, heap->device->unit, driver.slot, bytes);
}

/* What a pool has freed but not given back stays mapped, as on hardware. */
static void area_mark_pooled(struct area *area, bool is_pooled)
{
        for (uint32_t i = 0; i < area->run->count; i++)
                atomic_store(&run_pages(area->run)[i].is_pooled, is_pooled);
}

/* Pages for the heap, as one piece in use that is in no bin. */
static struct area *area_new(struct heap *heap, uint32_t pages)
{
        struct area *area = calloc(1, sizeof *area);

        if (!area)
                return NULL;
        area->heap = heap;
        area->run = arena_take(heap->arena, pages, 1);
        area->first = area->run ? piece_new(area, 0, pages * PAGE_UNITS) : NULL;
        if (!area->first) {
                if (area->run)
                        arena_give(area->run);
                free(area);
                return NULL;
        }
        if (heap->arena == ARENA_DIRECT || heap->arena == ARENA_MANAGED)
                contents_make_direct(run_pages(area->run), pages,
                                     run_is_twin(area->run) ? WRITER_TWIN : WRITER_HOST);
        if (heap->pool)
                area_mark_pooled(area, true);
        area_link(heap, area);
        heap->reserved_bytes += pages * PAGE_BYTES;
        if (heap->reserved_bytes > heap->reserved_high_bytes)
                heap->reserved_high_bytes = heap->reserved_bytes;
        return area;
}

static void area_drop(struct area *area)
{
        char path[EXPORT_PATH_BYTES];

        if (!area->file_number) {
                contents_drop(run_bytes(area->run), run_pages(area->run), area->run->count);
                return;
        }
        export_path(&driver.machine, area->file_number, path);
        unlink(path);
        export_remove(&driver.machine, area->file_index, area->file_number);
        shared_unmap(area->run);
}

/* The area's only piece is not in a bin. */
static void area_free(struct heap *heap, struct area *area)
{
        uint32_t pages = area->run->count;

        area_drop(area);
        if (heap->pool)
                area_mark_pooled(area, false);
        arena_forget(run_pages(area->run), pages);
        piece_free(area->first);
        arena_give(area->run);
        area_unlink(heap, area);
        heap->reserved_bytes -= pages * PAGE_BYTES;
        heap_refund(heap, pages * PAGE_BYTES);
        free(area);
}

static CUresult heap_grow(struct heap *heap, uint32_t pages, struct area **ret_area)
{
        CUresult r = heap_charge(heap, pages * PAGE_BYTES);

        if (r != CUDA_SUCCESS)
                return r;
        *ret_area = area_new(heap, pages);
        if (*ret_area)
                return CUDA_SUCCESS;
        heap_refund(heap, pages * PAGE_BYTES);
        return CUDA_ERROR_OUT_OF_MEMORY;
}

/* A piece in use of `units`. */
static CUresult heap_cut(struct heap *heap, size_t bytes, struct piece **ret_piece)
{
        uint32_t units = (uint32_t)((bytes + UNIT_BYTES - 1) / UNIT_BYTES);
        uint32_t pages = (uint32_t)((bytes + PAGE_MASK) / PAGE_BYTES);
        bool shares = heap->pool || (bytes <= HEAP_SMALL_BYTES && !heap->is_exclusive);
        struct area *area;

        if (shares)
                *ret_piece = carve_take(&heap->carve, units);
        if (shares && *ret_piece)
                return CUDA_SUCCESS;
        CUresult r = heap_grow(heap, pages, &area);
        if (r != CUDA_SUCCESS)
                return r;
        *ret_piece = area->first;
        if (!shares || units == area->first->count)
                return CUDA_SUCCESS;
        struct piece *remainder = carve_split(area->first, units);
        if (!remainder) {
                area_free(heap, area);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        carve_give(&heap->carve, remainder);
        return CUDA_SUCCESS;
}

/* Puts a piece back; an empty area goes unless the heap keeps it. */
static void heap_return(struct heap *heap, struct piece *piece)
{
        struct area *area = piece_area(piece);

        piece = carve_give(&heap->carve, piece);
        if (heap->pool || piece->count != area->run->count * PAGE_UNITS)
                return;
        carve_remove(&heap->carve, piece);
        area_free(heap, area);
}

static bool piece_publish(struct heap *heap, struct piece *piece, size_t bytes,
                          enum memory_kind kind)
{
        struct area *area = piece_area(piece);
        struct allocation *allocation = &piece->allocation;
        CUdeviceptr base = piece_address(piece);

        *allocation = (struct allocation){
                .base = base,
                .charged_bytes = piece->count * UNIT_BYTES,
                .kind = kind,
                .device = heap->device,
                .context = heap->context,
                .pool = heap->pool,
                .buffer_id = allocation_number_next(),
                .bytes = run_bytes(area->run) + piece->start * UNIT_BYTES,
                .pages = run_pages(area->run) + piece->start / PAGE_UNITS,
        };
        if (!arena_publish(piece, base, piece->count * UNIT_BYTES))
                return false;
        atomic_store(&allocation->size, bytes);
        return true;
}

static void heap_use(struct heap *heap, const struct piece *piece)
{
        heap->used_bytes += piece->count * UNIT_BYTES;
        if (heap->used_bytes > heap->used_high_bytes)
                heap->used_high_bytes = heap->used_bytes;
}

CUresult heap_alloc(struct heap *heap, size_t bytes, enum memory_kind kind,
                    struct allocation **ret_allocation)
{
        struct piece *piece = NULL;

        /* More than any GPU has: the sums must not wrap. */
        if (bytes > HEAP_MOST_BYTES)
                return CUDA_ERROR_OUT_OF_MEMORY;
        arena_lock();
        CUresult r = heap_cut(heap, bytes, &piece);
        if (r == CUDA_SUCCESS && !piece_publish(heap, piece, bytes, kind)) {
                heap_return(heap, piece);
                r = CUDA_ERROR_OUT_OF_MEMORY;
        }
        if (r == CUDA_SUCCESS) {
                heap_use(heap, piece);
                *ret_allocation = &piece->allocation;
        }
        arena_unlock();
        return r;
}

static struct piece *allocation_piece(struct allocation *allocation)
{
        return (struct piece *)allocation;
}

struct area *area_of(const struct allocation *allocation)
{
        return piece_area((const struct piece *)allocation);
}

size_t heap_capacity(const struct allocation *allocation)
{
        return ((const struct piece *)allocation)->count * UNIT_BYTES;
}

static void piece_withdraw(struct heap *heap, struct piece *piece)
{
        atomic_store(&piece->allocation.size, 0);
        arena_withdraw(piece, piece->allocation.base, piece->count * UNIT_BYTES);
        heap->used_bytes -= piece->count * UNIT_BYTES;
}

void heap_free(struct allocation *allocation)
{
        struct piece *piece = allocation_piece(allocation);

        arena_lock();
        struct heap *heap = piece_area(piece)->heap;
        piece_withdraw(heap, piece);
        heap_return(heap, piece);
        arena_unlock();
}

void heap_retire(struct allocation *allocation)
{
        struct piece *piece = allocation_piece(allocation);

        arena_lock();
        piece_withdraw(piece_area(piece)->heap, piece);
        arena_unlock();
}

void heap_reclaim(struct allocation *allocation)
{
        struct piece *piece = allocation_piece(allocation);

        arena_lock();
        heap_return(piece_area(piece)->heap, piece);
        arena_unlock();
}

CUresult heap_revive(struct allocation *allocation, size_t bytes, enum memory_kind kind,
                     struct allocation **ret_remainder)
{
        struct piece *piece = allocation_piece(allocation);
        struct heap *heap = piece_area(piece)->heap;
        uint32_t units = (uint32_t)((bytes + UNIT_BYTES - 1) / UNIT_BYTES);
        struct piece *remainder = NULL;

        arena_lock();
        if (units < piece->count)
                remainder = carve_split(piece, units);
        bool is_done = piece_publish(heap, piece, bytes, kind);
        if (is_done)
                heap_use(heap, piece);
        arena_unlock();
        *ret_remainder = remainder ? &remainder->allocation : NULL;
        return is_done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Withdraws and frees all pieces but the first, which becomes the whole area. */
static void area_clear(struct heap *heap, struct area *area)
{
        struct piece *after;

        for (struct piece *piece = area->first; piece; piece = after) {
                after = piece->after;
                if (piece->is_free)
                        carve_remove(&heap->carve, piece);
                else if (atomic_load(&piece->allocation.size))
                        piece_withdraw(heap, piece);
                if (piece != area->first)
                        piece_free(piece);
        }
}

/* The next piece in the area that the context has; NULL: none. */
static struct piece *area_piece_of(struct area *area, const struct context *context)
{
        for (struct piece *piece = area->first; piece; piece = piece->after)
                if (!piece->is_free && atomic_load(&piece->allocation.size) &&
                    piece->allocation.context == context)
                        return piece;
        return NULL;
}

void heap_free_of(struct heap *heap, const struct context *context)
{
        struct piece *piece;

        arena_lock();
        for (struct area *area = heap->areas; area; area = area->next)
                while ((piece = area_piece_of(area, context))) {
                        piece_withdraw(heap, piece);
                        heap_return(heap, piece);
                }
        arena_unlock();
}

void heap_done(struct heap *heap)
{
        arena_lock();
        while (heap->areas) {
                struct area *area = heap->areas;
                area_clear(heap, area);
                area_free(heap, area);
        }
        arena_unlock();
}

static bool area_is_empty(struct area *area)
{
        return area->first->is_free && area->first->count == area->run->count * PAGE_UNITS;
}

void heap_trim(struct heap *heap, uint64_t keep_bytes)
{
        struct area *next;

        arena_lock();
        for (struct area *area = heap->areas; area && heap->reserved_bytes > keep_bytes;
             area = next) {
                next = area->next;
                if (!area_is_empty(area))
                        continue;
                carve_remove(&heap->carve, area->first);
                area_free(heap, area);
        }
        arena_unlock();
}
