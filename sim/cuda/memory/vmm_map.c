/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: reserved, mapped to physical memory, and opened to devices. */
#include <stdlib.h>

#include "driver.h"
#include "heap.h"
#include "lookup.h"
#include "sim_cuda.h"
#include "vmm.h"

#define RESERVE_MOST_BYTES (UINT64_C(1) << 45)

/* Reserved ranges, and what is mapped into them. Guarded by vmm_lock(). */
struct reservation {
        struct piece *run;
        struct mapping *mappings;
        struct reservation *next;
};

static struct reservation *reservations;

static struct reservation *reservation_find(CUdeviceptr address, size_t size)
{
        struct reservation *r = reservations;

        for (; r; r = r->next) {
                uint64_t start = run_address(r->run), length = r->run->count * PAGE_BYTES;
                if (address >= start && address - start < length &&
                    size <= length - (address - start))
                        return r;
        }
        return NULL;
}

/* A range of whole pages. */
static bool range_is_whole(CUdeviceptr address, size_t size)
{
        return size && !(size & PAGE_MASK) && !(address & PAGE_MASK);
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                 unsigned long long flags)
{
        struct piece *run = NULL;

        if (!ptr || !size || size & PAGE_MASK || flags || (alignment & (alignment - 1)))
                return CUDA_ERROR_INVALID_VALUE;
        if (size > RESERVE_MOST_BYTES || alignment > RESERVE_MOST_BYTES)
                return CUDA_ERROR_OUT_OF_MEMORY;
        struct reservation *reservation = calloc(1, sizeof *reservation);
        if (!reservation)
                return CUDA_ERROR_OUT_OF_MEMORY;
        uint32_t pages = (uint32_t)(size / PAGE_BYTES);
        uint32_t align = alignment > PAGE_BYTES ? (uint32_t)(alignment / PAGE_BYTES) : 1;
        vmm_lock();
        arena_lock();
        if (addr)
                run = arena_take_at(addr, pages);
        if (!run)
                run = arena_take(ARENA_DEVICE, pages, align);
        arena_unlock();
        if (run) {
                reservation->run = run;
                reservation->next = reservations;
                reservations = reservation;
                *ptr = run_address(run);
        } else {
                free(reservation);
        }
        vmm_unlock();
        return run ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        vmm_lock();
        for (struct reservation **link = &reservations; *link; link = &(*link)->next) {
                struct reservation *reservation = *link;
                if (run_address(reservation->run) != ptr ||
                    reservation->run->count * PAGE_BYTES != size || reservation->mappings)
                        continue;
                *link = reservation->next;
                arena_lock();
                arena_give(reservation->run);
                arena_unlock();
                free(reservation);
                r = CUDA_SUCCESS;
                break;
        }
        vmm_unlock();
        return r;
}

/* True when no mapping touches the range. */
static bool range_is_unmapped(const struct reservation *reservation, CUdeviceptr ptr, size_t size)
{
        for (const struct mapping *m = reservation->mappings; m; m = m->next) {
                const struct allocation *a = &m->piece->allocation;
                if (ptr < a->base + a->size && a->base < ptr + size)
                        return false;
        }
        return true;
}

static bool mapping_publish(struct mapping *mapping, CUdeviceptr ptr, size_t size, size_t offset)
{
        struct physical *physical = mapping->physical;
        bool is_done;

        arena_lock();
        mapping->piece = piece_new(NULL, 0, 0);
        if (mapping->piece) {
                mapping->piece->allocation = (struct allocation){
                        .base = ptr,
                        .kind = MEMORY_MAPPED,
                        .device = physical->device,
                        .bytes = run_bytes(physical->run) + offset,
                        .pages = run_pages(physical->run) + offset / PAGE_BYTES,
                        .buffer_id = allocation_number_next(),
                        .owner = mapping,
                };
        }
        is_done = mapping->piece && arena_publish(mapping->piece, ptr, size);
        if (is_done)
                atomic_store(&mapping->piece->allocation.size, size);
        arena_unlock();
        return is_done;
}

static CUresult map_locked(CUdeviceptr ptr, size_t size, size_t offset,
                           CUmemGenericAllocationHandle handle)
{
        struct physical *physical = physical_get(handle);
        struct reservation *reservation = reservation_find(ptr, size);

        if (!physical || !reservation || offset > physical->size ||
            size > physical->size - offset || !range_is_unmapped(reservation, ptr, size))
                return CUDA_ERROR_INVALID_VALUE;
        struct mapping *mapping = calloc(1, sizeof *mapping);
        if (!mapping)
                return CUDA_ERROR_OUT_OF_MEMORY;
        mapping->physical = physical;
        if (!mapping_publish(mapping, ptr, size, offset)) {
                free(mapping);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        physical->mappings++;
        mapping->next = reservation->mappings;
        reservation->mappings = mapping;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
        if (!range_is_whole(ptr, size) || offset & PAGE_MASK || flags)
                return CUDA_ERROR_INVALID_VALUE;
        vmm_lock();
        CUresult r = map_locked(ptr, size, offset, handle);
        vmm_unlock();
        return r;
}

/* The mapping that begins at the address and ends within the range; NULL: none does. */
static struct mapping **mapping_within(struct reservation *reservation, CUdeviceptr ptr,
                                       size_t size)
{
        struct mapping **link = &reservation->mappings;

        for (; *link; link = &(*link)->next) {
                const struct allocation *a = &(*link)->piece->allocation;
                if (a->base == ptr && a->size <= size)
                        return link;
        }
        return NULL;
}

/* True when whole mappings fill the range. */
static bool range_is_mapped(struct reservation *reservation, CUdeviceptr ptr, size_t size)
{
        while (size) {
                struct mapping **link = mapping_within(reservation, ptr, size);
                if (!link)
                        return false;
                ptr += (*link)->piece->allocation.size;
                size -= (*link)->piece->allocation.size;
        }
        return true;
}

static size_t mapping_free(struct mapping **link)
{
        struct mapping *mapping = *link;
        struct allocation *allocation = &mapping->piece->allocation;
        size_t size = allocation->size;

        *link = mapping->next;
        arena_lock();
        atomic_store(&allocation->size, 0);
        arena_withdraw(mapping->piece, allocation->base, size);
        piece_free(mapping->piece);
        arena_unlock();
        physical_put(mapping->physical, &mapping->physical->mappings);
        free(mapping);
        return size;
}

CUresult sim_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
        struct context *context = context_current();

        if (!range_is_whole(ptr, size))
                return CUDA_ERROR_INVALID_VALUE;
        /* Kernels that still use it come first. */
        CUresult r = context ? context_wait(context) : CUDA_SUCCESS;
        if (r != CUDA_SUCCESS)
                return r;
        vmm_lock();
        struct reservation *reservation = reservation_find(ptr, size);
        if (!reservation || !range_is_mapped(reservation, ptr, size))
                r = CUDA_ERROR_INVALID_VALUE;
        while (r == CUDA_SUCCESS && size) {
                size_t done = mapping_free(mapping_within(reservation, ptr, size));
                ptr += done;
                size -= done;
        }
        vmm_unlock();
        return r;
}

static CUresult access_check(const CUmemAccessDesc *desc, size_t count)
{
        if (!desc || !count)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count; i++) {
                if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
                    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
                    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                        return CUDA_ERROR_INVALID_VALUE;
                if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                        return CUDA_ERROR_NOT_SUPPORTED;
                if (!driver_device(desc[i].location.id))
                        return CUDA_ERROR_INVALID_DEVICE;
        }
        return CUDA_SUCCESS;
}

static void mapping_open(struct mapping *mapping, const CUmemAccessDesc *desc)
{
        uint64_t bit = UINT64_C(1) << desc->location.id;

        mapping->readers = desc->flags & 1 ? mapping->readers | bit : mapping->readers & ~bit;
        mapping->writers = desc->flags & 2 ? mapping->writers | bit : mapping->writers & ~bit;
}

CUresult sim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
        CUresult r = access_check(desc, count);

        if (r != CUDA_SUCCESS)
                return r;
        if (!range_is_whole(ptr, size))
                return CUDA_ERROR_INVALID_VALUE;
        vmm_lock();
        struct reservation *reservation = reservation_find(ptr, size);
        if (!reservation || !range_is_mapped(reservation, ptr, size))
                r = CUDA_ERROR_INVALID_VALUE;
        while (r == CUDA_SUCCESS && size) {
                struct mapping *mapping = *mapping_within(reservation, ptr, size);
                for (size_t i = 0; i < count; i++)
                        mapping_open(mapping, &desc[i]);
                ptr += mapping->piece->allocation.size;
                size -= mapping->piece->allocation.size;
        }
        vmm_unlock();
        return r;
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                            CUdeviceptr ptr)
{
        struct allocation *allocation = memory_find(ptr);
        struct device *device;

        if (!flags || !location || !allocation || allocation->kind != MEMORY_MAPPED)
                return CUDA_ERROR_INVALID_VALUE;
        device = location->type == CU_MEM_LOCATION_TYPE_DEVICE ? driver_device(location->id) : NULL;
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        *flags = vmm_allows(allocation, device, true)    ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : vmm_allows(allocation, device, false) ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
}
