/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory behind handles: what cuMemCreate makes. */
#include "vmm.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "contents.h"
#include "driver.h"
#include "pool.h"
#include "shared.h"
#include "unit_memory.h"

static struct {
        pthread_mutex_t lock;
        struct physical *buckets[256]; /* by handle */
        uint64_t number;
} vmm = { .lock = PTHREAD_MUTEX_INITIALIZER };

void vmm_lock(void)
{
        pthread_mutex_lock(&vmm.lock);
}

void vmm_unlock(void)
{
        pthread_mutex_unlock(&vmm.lock);
}

static struct physical **physical_bucket(CUmemGenericAllocationHandle handle)
{
        return &vmm.buckets[handle / 16 % 256];
}

struct physical *physical_get(CUmemGenericAllocationHandle handle)
{
        struct physical *physical = *physical_bucket(handle);

        while (physical && physical->handle != handle)
                physical = physical->next;
        return physical;
}

static CUresult physical_charge(struct device *device, size_t size)
{
        int r = unit_charge(&driver.machine, device->unit, driver.slot, size);

        if (r && pool_reclaim(device))
                r = unit_charge(&driver.machine, device->unit, driver.slot, size);
        return r ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static struct piece *physical_run(size_t size)
{
        arena_lock();
        struct piece *run = arena_take(ARENA_DEVICE, (uint32_t)(size / PAGE_BYTES), 1);
        arena_unlock();
        return run;
}

CUresult physical_new(struct device *device, size_t size, const CUmemAllocationProp *props,
                      bool is_imported, struct physical **ret_physical)
{
        CUresult r = is_imported ? CUDA_SUCCESS : physical_charge(device, size);

        if (r != CUDA_SUCCESS)
                return r;
        struct physical *physical = calloc(1, sizeof *physical);
        struct piece *run = physical ? physical_run(size) : NULL;
        if (!run) {
                free(physical);
                if (!is_imported)
                        unit_release(&driver.machine, device->unit, driver.slot, size);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *physical = (struct physical){
                .handle = UINT64_C(0x10000000) + 16 * ++vmm.number,
                .props = *props,
                .device = device,
                .size = size,
                .run = run,
                .references = 1,
                .is_imported = is_imported,
                .fd = -1,
                .reference = -1,
        };
        physical->next = *physical_bucket(physical->handle);
        *physical_bucket(physical->handle) = physical;
        *ret_physical = physical;
        return CUDA_SUCCESS;
}

/* An import has taken nothing. */
static void physical_give_back(const struct physical *physical)
{
        const unsigned unit = physical->device->unit;

        if (physical->is_imported)
                return;
        if (physical->number)
                unit_release_export(&driver.machine, unit, driver.slot, physical->size,
                                    physical->row);
        else
                unit_release(&driver.machine, unit, driver.slot, physical->size);
}

static void physical_free(struct physical *physical)
{
        struct physical **link = physical_bucket(physical->handle);

        while (*link != physical)
                link = &(*link)->next;
        *link = physical->next;
        if (physical->fd >= 0) {
                shared_unmap(physical->run);
                close(physical->fd);
        } else {
                contents_drop(run_bytes(physical->run), run_pages(physical->run),
                              physical->run->count);
        }
        arena_lock();
        arena_give(physical->run);
        arena_unlock();
        if (physical->reference >= 0)
                close(physical->reference);
        physical_give_back(physical);
        free(physical);
}

void physical_put(struct physical *physical, unsigned *count)
{
        --*count;
        if (!physical->references && !physical->mappings)
                physical_free(physical);
}

bool vmm_allows(const struct allocation *allocation, const struct device *device, bool is_write)
{
        const struct mapping *mapping = allocation->owner;

        return mapping && (is_write ? mapping->writers : mapping->readers) >> device->ordinal & 1;
}

unsigned vmm_handle_types(const struct allocation *allocation)
{
        const struct mapping *mapping = allocation->owner;

        return mapping ? mapping->physical->props.requestedHandleTypes : 0;
}
