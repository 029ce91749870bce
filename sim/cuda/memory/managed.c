/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory: the pages of each allocation, where they are, and moving them. */
#include "managed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "heap.h"
#include "holdings.h"
#include "host_touch.h"
#include "lookup.h"
#include "scope.h"
#include "unit_memory.h"

#define PART_BYTES UINT64_C(65536) /* the GPU holds less than a page in such parts */

/* All managed allocations of the process, most recently used first. */
static struct {
        pthread_mutex_t lock;
        struct managed *first, *last;
        _Atomic size_t count;
        _Atomic uint64_t touches;
        uint64_t resident_bytes[MACHINE_UNITS];
} managed = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void list_remove(struct managed *m)
{
        *(m->previous ? &m->previous->next : &managed.first) = m->next;
        *(m->next ? &m->next->previous : &managed.last) = m->previous;
        m->next = m->previous = NULL;
}

static void list_insert(struct managed *m)
{
        m->next = managed.first;
        *(m->next ? &m->next->previous : &managed.last) = m;
        managed.first = m;
}

static uint64_t page_charge(const struct managed *m, size_t index)
{
        uint64_t left = m->allocation->size - index * PAGE_BYTES;

        return left >= PAGE_BYTES ? PAGE_BYTES : (left + PART_BYTES - 1) & ~(PART_BYTES - 1);
}

static unsigned residence_unit(int residence)
{
        return driver.devices[residence].unit;
}

/* The page is no longer on its GPU; whether the GPU's sum knows is the caller's business. */
static uint64_t page_leave(struct managed *m, size_t index)
{
        uint64_t bytes = page_charge(m, index);

        managed.resident_bytes[residence_unit(m->pages[index].residence)] -= bytes;
        m->pages[index].residence = RESIDENCE_HOST;
        m->pages[index].is_watched = false;
        return bytes;
}

/* Until no more than this is resident, the least recently used pages have left the GPU. */
static void managed_shed(unsigned unit, uint64_t keep_bytes)
{
        for (struct managed *m = managed.last; m; m = m->previous)
                for (size_t i = 0; i < m->page_count; i++) {
                        if (managed.resident_bytes[unit] <= keep_bytes)
                                return;
                        if (m->pages[i].residence >= 0 &&
                            residence_unit(m->pages[i].residence) == unit)
                                page_leave(m, i);
                }
}

static uint64_t unit_held(unsigned unit)
{
        return __atomic_load_n(&driver.slot->units[unit].managed_bytes, __ATOMIC_RELAXED);
}

/* Others may have pushed pages of ours off the GPUs. */
static void managed_notice(void)
{
        for (int i = 0; i < driver.device_count; i++)
                managed_shed(driver.devices[i].unit, unit_held(driver.devices[i].unit));
}

static uint64_t managed_out(struct managed *m, size_t first, size_t end)
{
        uint64_t moved = 0;

        for (size_t i = first; i < end; i++) {
                if (m->pages[i].residence < 0)
                        continue;
                unsigned unit = residence_unit(m->pages[i].residence);
                uint64_t bytes = page_leave(m, i);
                unit_managed_out(&driver.machine, unit, driver.slot, bytes);
                moved += bytes;
        }
        return moved;
}

static CUdeviceptr page_address(const struct managed *m, size_t index)
{
        return m->allocation->base + index * PAGE_BYTES;
}

/* Pages that the host has used since they came onto a GPU are the host's again. One that is mostly
 * read has a copy on both sides. */
static void managed_return(struct managed *m)
{
        autoclose int pagemap = -1;

        for (size_t i = 0, end; i < m->page_count; i++) {
                for (end = i; end < m->page_count; end++)
                        if (!m->pages[end].is_watched || m->pages[end].is_read_mostly)
                                break;
                if (end == i)
                        continue;
                if (pagemap < 0 && (pagemap = host_touch_open()) < 0)
                        return;
                CUdeviceptr at = host_touch_find(pagemap, page_address(m, i), page_address(m, end));
                if (at) {
                        i = (at - m->allocation->base) / PAGE_BYTES;
                        m->owed_bytes += managed_out(m, i, i + 1);
                } else {
                        i = end - 1;
                }
        }
}

/* By advice a GPU reaches the page where it is, over the link. */
static bool page_is_mapped(const struct managed_page *page, int residence)
{
        if (page->residence >= 0 &&
            !devices_are_peers(&driver.devices[residence], &driver.devices[page->residence]))
                return false;
        return page->accessed_by >> residence & 1 || page->preferred == page->residence;
}

static bool page_wants(const struct managed_page *page, int residence, bool is_prefetch)
{
        return page->residence != residence && (is_prefetch || !page_is_mapped(page, residence));
}

/* Puts pages on the GPU as far as `granted` bytes go; returns what is left of it. */
static uint64_t managed_settle(struct managed *m, size_t first, size_t end, int residence,
                               bool is_prefetch, uint64_t granted)
{
        bool is_watched = host_touch_reset(page_address(m, first), (end - first) * PAGE_BYTES);

        for (size_t i = first; i < end && granted; i++) {
                uint64_t bytes = page_charge(m, i);
                if (!page_wants(&m->pages[i], residence, is_prefetch) || bytes > granted)
                        continue;
                m->pages[i].residence = (int16_t)residence;
                m->pages[i].is_watched = is_watched;
                managed.resident_bytes[residence_unit(residence)] += bytes;
                granted -= bytes;
        }
        return granted;
}

/* Moves pages to a device as far as there is space. Returns the bytes that had to move. */
static uint64_t managed_in(struct managed *m, size_t first, size_t end, int residence,
                           bool is_prefetch)
{
        unsigned unit = residence_unit(residence);
        uint64_t wanted = 0;

        for (size_t i = first; i < end; i++) {
                if (!page_wants(&m->pages[i], residence, is_prefetch))
                        continue;
                managed_out(m, i, i + 1);
                wanted += page_charge(m, i);
        }
        list_remove(m);
        list_insert(m);
        if (!wanted)
                return 0;
        uint64_t granted = unit_managed_in(&driver.machine, unit, driver.slot, wanted);
        uint64_t held = unit_held(unit);
        managed_shed(unit, held > granted ? held - granted : 0);
        granted = managed_settle(m, first, end, residence, is_prefetch, granted);
        if (granted)
                unit_managed_out(&driver.machine, unit, driver.slot, granted);
        return wanted;
}

CUresult managed_alloc(struct context *context, size_t bytes, unsigned flags,
                       CUdeviceptr *ret_address)
{
        struct holdings *holdings = context_holdings(context);
        struct allocation *allocation;
        size_t pages = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);

        if (!holdings || bytes > HEAP_MOST_BYTES)
                return CUDA_ERROR_OUT_OF_MEMORY;
        struct managed *m = calloc(1, sizeof *m + pages * sizeof *m->pages);
        if (!m)
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = heap_alloc(&holdings->managed, bytes, MEMORY_MANAGED, &allocation);
        if (r != CUDA_SUCCESS) {
                free(m);
                return r;
        }
        m->allocation = allocation;
        m->page_count = pages;
        for (size_t i = 0; i < pages; i++)
                m->pages[i] = (struct managed_page){
                        .residence = RESIDENCE_HOST,
                        .preferred = RESIDENCE_NONE,
                        .prefetched = RESIDENCE_NONE,
                };
        allocation->device = context->device;
        allocation->charged_bytes = 0;
        allocation->flags = flags;
        pthread_mutex_lock(&managed.lock);
        allocation->owner = m;
        list_insert(m);
        pthread_mutex_unlock(&managed.lock);
        atomic_fetch_add(&managed.count, 1);
        *ret_address = allocation->base;
        return CUDA_SUCCESS;
}

/* With the lock held. */
static void managed_forget(struct managed *m)
{
        managed_notice();
        managed_out(m, 0, m->page_count);
        list_remove(m);
        m->allocation->owner = NULL;
        atomic_fetch_sub(&managed.count, 1);
        free(m);
}

void managed_free(struct allocation *allocation)
{
        pthread_mutex_lock(&managed.lock);
        if (allocation->owner)
                managed_forget(allocation->owner);
        pthread_mutex_unlock(&managed.lock);
        heap_free(allocation);
}

void managed_context_done(struct context *context)
{
        struct managed *next;

        pthread_mutex_lock(&managed.lock);
        for (struct managed *m = managed.first; m; m = next) {
                next = m->next;
                if (m->allocation->context == context)
                        managed_forget(m);
        }
        pthread_mutex_unlock(&managed.lock);
}

static void page_range(const struct allocation *allocation, CUdeviceptr address, size_t count,
                       size_t *ret_first, size_t *ret_end)
{
        *ret_first = (address - allocation->base) / PAGE_BYTES;
        *ret_end = (address - allocation->base + count + PAGE_MASK) / PAGE_BYTES;
}

struct managed_page *managed_lock(CUdeviceptr address, size_t count, size_t *ret_count)
{
        struct allocation *allocation = memory_find(address);
        size_t first, end;

        if (!allocation || allocation->kind != MEMORY_MANAGED || !count ||
            count > allocation->base + allocation->size - address)
                return NULL;
        pthread_mutex_lock(&managed.lock);
        struct managed *m = allocation->owner;
        if (!m) {
                pthread_mutex_unlock(&managed.lock);
                return NULL;
        }
        managed_notice();
        managed_return(m);
        page_range(allocation, address, count, &first, &end);
        *ret_count = end - first;
        return &m->pages[first];
}

void managed_unlock(void)
{
        pthread_mutex_unlock(&managed.lock);
}

void managed_notice_host(void)
{
        if (!atomic_load_explicit(&managed.count, memory_order_relaxed))
                return;
        pthread_mutex_lock(&managed.lock);
        managed_notice();
        for (struct managed *m = managed.first; m; m = m->next)
                managed_return(m);
        pthread_mutex_unlock(&managed.lock);
}

bool managed_is_resident(struct allocation *allocation, CUdeviceptr address, size_t count)
{
        size_t pages, resident = 0;
        struct managed_page *page = managed_lock(address, count, &pages);

        (void)allocation;
        if (!page)
                return false;
        for (size_t i = 0; i < pages; i++)
                resident += page[i].residence >= 0;
        managed_unlock();
        return 2 * resident > pages;
}

uint64_t managed_move(struct allocation *allocation, CUdeviceptr address, size_t count,
                      int residence)
{
        size_t pages, first, end;
        struct managed_page *page = managed_lock(address, count, &pages);
        uint64_t moved;

        if (!page)
                return 0;
        page_range(allocation, address, count, &first, &end);
        if (residence < 0)
                moved = managed_out(allocation->owner, first, end);
        else
                moved = managed_in(allocation->owner, first, end, residence, true);
        for (size_t i = 0; i < pages; i++)
                page[i].prefetched = (int16_t)residence;
        managed_unlock();
        return moved;
}

static uint64_t bytes_ns(uint64_t bytes, uint64_t bytes_per_s)
{
        return bytes_per_s ? (uint64_t)((double)bytes * 1e9 / (double)bytes_per_s) : 0;
}

static uint64_t managed_mapped_bytes(const struct managed *m, int residence)
{
        uint64_t bytes = 0;

        for (size_t i = 0; i < m->page_count; i++)
                if (m->pages[i].residence != residence && page_is_mapped(&m->pages[i], residence))
                        bytes += page_charge(m, i);
        return bytes;
}

/* A kernel gets this allocation: what it does not find on its GPU comes by page faults, as did what
 * the host had fetched back before; what advice keeps elsewhere it uses over the link. */
static uint64_t managed_touch_ns(struct allocation *allocation, struct context *context,
                                 uint64_t touch)
{
        const struct machine_gpu *gpu = device_gpu(context->device);
        int residence = context->device->ordinal;
        uint64_t moved = 0, mapped = 0;
        size_t pages;

        if (!managed_lock(allocation->base, allocation->size, &pages))
                return 0;
        struct managed *m = allocation->owner;
        if (m->touch != touch) {
                m->touch = touch;
                moved = managed_in(m, 0, pages, residence, false) + m->owed_bytes;
                mapped = managed_mapped_bytes(m, residence);
                m->owed_bytes = 0;
        }
        managed_unlock();
        return bytes_ns(moved, gpu->fault_bytes_per_s) + bytes_ns(mapped, gpu->in_bytes_per_s);
}

uint64_t managed_touch(struct context *context, const void *params, size_t size)
{
        uint64_t ns = 0;

        if (!atomic_load_explicit(&managed.count, memory_order_relaxed))
                return 0;
        uint64_t touch = atomic_fetch_add(&managed.touches, 1) + 1;
        for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
                uint64_t word;
                memcpy(&word, (const char *)params + at, sizeof word);
                struct allocation *allocation = memory_find(word);
                if (allocation && allocation->kind == MEMORY_MANAGED)
                        ns += managed_touch_ns(allocation, context, touch);
        }
        return ns;
}
