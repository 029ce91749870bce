/* SPDX-License-Identifier: Apache-2.0 */
/* From a device address to bytes: for kernels and for copies. */
#include "resolve.h"
#include "arena.h"
#include "contents.h"
#include "memory.h"
#include "pool.h"
#include "vmm.h"

/* Memory of another GPU needs peer access. */
static bool memory_is_reachable(const struct allocation *allocation, const struct context *context,
                                bool is_write)
{
        if (!context || !allocation->device)
                return true;
        if (allocation->kind == MEMORY_MAPPED)
                return vmm_allows(allocation, context->device, is_write);
        if (allocation->device->unit == context->device->unit || allocation->kind == MEMORY_MANAGED)
                return true;
        if (allocation->pool)
                return pool_allows(allocation->pool, context->device, is_write);
        /* Opening another process's memory enables peer access: its only flag says so. */
        if (allocation->kind == MEMORY_IMPORTED)
                return true;
        return context->peers >> allocation->device->ordinal & 1;
}

struct view allocation_view(const struct allocation *allocation, CUdeviceptr address)
{
        size_t offset = address - allocation->base;
        size_t pages = ((uintptr_t)allocation->bytes % PAGE_BYTES + offset) / PAGE_BYTES;

        return (struct view){
                .bytes = (char *)allocation->bytes + offset,
                .page = allocation->pages ? allocation->pages + pages : NULL,
        };
}

bool resolve_span(CUdeviceptr address, size_t count, struct span *ret_span)
{
        struct allocation *allocation = memory_find(address);
        struct page *page;

        if (allocation) {
                size_t left = allocation->base + allocation->size - address;
                ret_span->allocation = allocation;
                ret_span->view = allocation_view(allocation, address);
                ret_span->before = address - allocation->base;
                ret_span->after = left - (left < count ? left : count);
                ret_span->count = left < count ? left : count;
                return true;
        }
        page = arena_page(address);
        if (!page || !atomic_load(&page->is_pooled))
                return false;
        /* Freed but still the pool's: work that was submitted before the free may use it. */
        size_t left = PAGE_BYTES - (address & PAGE_MASK);
        ret_span->allocation = NULL;
        ret_span->view = (struct view){ .bytes = arena_bytes(address), .page = page };
        ret_span->before = address & PAGE_MASK;
        ret_span->count = left < count ? left : count;
        ret_span->after = left - ret_span->count;
        return true;
}

void *memory_resolve(void *context, uint64_t address, size_t length, bool is_write,
                     uint64_t *ret_low, uint64_t *ret_high)
{
        struct span span;

        if (!length || !resolve_span(address, length, &span) || span.count < length)
                return NULL;
        if (span.allocation && !memory_is_reachable(span.allocation, context, is_write))
                return NULL;
        void *bytes = contents_open(span.view, length, is_write, &span.before, &span.after);
        if (!bytes)
                return NULL;
        *ret_low = address - span.before;
        *ret_high = address + length + span.after;
        return bytes;
}
