/* SPDX-License-Identifier: Apache-2.0 */
/* Memory between processes: contents move to a file in shared memory, which others map. */
#include "ipc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "heap.h"
#include "lookup.h"
#include "scope.h"
#include "shared.h"
#include "sim_cuda.h"

#define TICKET_MAGIC UINT64_C(0x74656b6369746376)
static_assert(sizeof(struct ipc_ticket) <= CU_IPC_HANDLE_SIZE, "fits a handle");

/* Offered by this process. */
struct offer {
        struct allocation *allocation;
        uint64_t buffer_id; /* the address may be used again by another allocation */
        uint32_t index;
        uint64_t number;
        struct offer *next;
};

/* Opened by this process: the `owner` of the imported allocation. */
struct opening {
        uint64_t number;
        struct piece *run;
        struct piece *piece;
        unsigned references;
        struct opening *next;
};

static struct {
        pthread_mutex_t lock;
        struct offer *offers;
        _Atomic unsigned offer_count;
        struct opening *openings;
} ipc = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct device *ipc_device(uint64_t unit)
{
        for (int i = 0; i < driver.device_count; i++)
                if (driver.devices[i].unit == unit)
                        return &driver.devices[i];
        return NULL;
}

/* The area's contents move to a file that has a name. Its row comes first: should we die here, the
 * reaper knows of it. */
static CUresult area_share(struct area *area)
{
        const struct machine_export row = {
                .kind = EXPORT_FILE,
                .bytes = area->run->count * PAGE_BYTES,
        };
        char path[EXPORT_PATH_BYTES];
        uint64_t number;
        uint32_t index;

        if (area->file_number)
                return CUDA_SUCCESS;
        /* Nothing may be written while the contents move. */
        if (context_current())
                context_wait(context_current());
        if (export_add(&driver.machine, driver.slot, &row, &index, &number) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        export_path(&driver.machine, number, path);
        autoclose int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) {
                export_remove(&driver.machine, index, number);
                return CUDA_ERROR_OPERATING_SYSTEM;
        }
        if (ftruncate(fd, (off_t)(area->run->count * PAGE_BYTES)) < 0 ||
            shared_make(area->run, fd) < 0) {
                unlink(path);
                export_remove(&driver.machine, index, number);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        area->file_index = index;
        area->file_number = number;
        return CUDA_SUCCESS;
}

static struct offer **offer_find(const struct allocation *allocation)
{
        struct offer **link = &ipc.offers;

        while (*link &&
               ((*link)->allocation != allocation || (*link)->buffer_id != allocation->buffer_id))
                link = &(*link)->next;
        return link;
}

static CUresult offer_new(struct allocation *allocation, struct offer **ret_offer)
{
        struct area *area = area_of(allocation);
        CUresult r = area_share(area);

        if (r != CUDA_SUCCESS)
                return r;
        struct offer *offer = calloc(1, sizeof *offer);
        struct machine_export row = {
                .kind = EXPORT_MEMORY,
                .unit = allocation->device->unit,
                .bytes = area->run->count * PAGE_BYTES,
                .detail = { allocation->base - run_address(area->run), allocation->size,
                            area->file_number },
        };
        if (!offer ||
            export_add(&driver.machine, driver.slot, &row, &offer->index, &offer->number) < 0) {
                free(offer);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        offer->allocation = allocation;
        offer->buffer_id = allocation->buffer_id;
        offer->next = ipc.offers;
        ipc.offers = offer;
        atomic_fetch_add(&ipc.offer_count, 1);
        *ret_offer = offer;
        return CUDA_SUCCESS;
}

CUresult ipc_offer(struct allocation *allocation, struct ipc_ticket *ret_ticket)
{
        CUresult r = CUDA_SUCCESS;

        pthread_mutex_lock(&ipc.lock);
        struct offer *offer = *offer_find(allocation);
        if (!offer)
                r = offer_new(allocation, &offer);
        if (r == CUDA_SUCCESS) {
                *ret_ticket = (struct ipc_ticket){
                        .magic = TICKET_MAGIC,
                        .index = offer->index,
                        .number = offer->number,
                };
                memcpy(ret_ticket->machine, driver.machine.file->header.id,
                       sizeof ret_ticket->machine);
        }
        pthread_mutex_unlock(&ipc.lock);
        return r;
}

void ipc_withdraw(struct allocation *allocation)
{
        if (!atomic_load_explicit(&ipc.offer_count, memory_order_relaxed))
                return;
        pthread_mutex_lock(&ipc.lock);
        struct offer **link = offer_find(allocation);
        struct offer *offer = *link;
        if (offer) {
                export_remove(&driver.machine, offer->index, offer->number);
                *link = offer->next;
                free(offer);
                atomic_fetch_sub(&ipc.offer_count, 1);
        }
        pthread_mutex_unlock(&ipc.lock);
}

static struct opening *opening_find(uint64_t number)
{
        struct opening *opening = ipc.openings;

        while (opening && opening->number != number)
                opening = opening->next;
        return opening;
}

static void run_give(struct piece *run)
{
        shared_unmap(run);
        arena_lock();
        arena_give(run);
        arena_unlock();
}

/* The exporter's file in pages of our own. */
static CUresult run_open(const struct machine_export *row, struct piece **ret_run)
{
        char path[EXPORT_PATH_BYTES];
        struct stat st;

        export_path(&driver.machine, row->detail[2], path);
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size < row->bytes)
                return CUDA_ERROR_INVALID_VALUE;
        arena_lock();
        struct piece *run = arena_take(ARENA_DEVICE, (uint32_t)(row->bytes / PAGE_BYTES), 1);
        arena_unlock();
        if (!run)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (shared_map(run, fd) < 0) {
                run_give(run);
                return CUDA_ERROR_MAP_FAILED;
        }
        *ret_run = run;
        return CUDA_SUCCESS;
}

static bool opening_publish(struct opening *opening, const struct machine_export *row,
                            struct context *context, struct device *device)
{
        size_t offset = row->detail[0];
        CUdeviceptr base = run_address(opening->run) + offset;
        bool is_done;

        arena_lock();
        opening->piece = piece_new(NULL, 0, 0);
        if (opening->piece)
                opening->piece->allocation = (struct allocation){
                        .base = base,
                        .kind = MEMORY_IMPORTED,
                        .device = device,
                        .context = context,
                        .buffer_id = allocation_number_next(),
                        .bytes = run_bytes(opening->run) + offset,
                        .pages = run_pages(opening->run) + offset / PAGE_BYTES,
                        .owner = opening,
                };
        is_done = opening->piece && arena_publish(opening->piece, base, row->detail[1]);
        if (is_done)
                atomic_store(&opening->piece->allocation.size, row->detail[1]);
        arena_unlock();
        return is_done;
}

static CUresult opening_new(struct context *context, const struct machine_export *row,
                            struct opening **ret_opening)
{
        struct device *device = ipc_device(row->unit);
        struct opening *opening = calloc(1, sizeof *opening);
        CUresult r = device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;

        if (r == CUDA_SUCCESS)
                r = opening ? run_open(row, &opening->run) : CUDA_ERROR_OUT_OF_MEMORY;
        if (r != CUDA_SUCCESS) {
                free(opening);
                return r;
        }
        if (!opening_publish(opening, row, context, device)) {
                run_give(opening->run);
                free(opening);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        opening->number = row->number;
        opening->next = ipc.openings;
        ipc.openings = opening;
        *ret_opening = opening;
        return CUDA_SUCCESS;
}

static CUresult ticket_check(const struct ipc_ticket *ticket, bool is_own_fine,
                             struct machine_export *ret_row)
{
        if (ticket->magic != TICKET_MAGIC ||
            memcmp(ticket->machine, driver.machine.file->header.id, sizeof ticket->machine) ||
            export_get(&driver.machine, ticket->index, ticket->number, ret_row) < 0 ||
            ret_row->kind != EXPORT_MEMORY)
                return CUDA_ERROR_INVALID_VALUE;
        if (!is_own_fine && ret_row->slot == slot_index(&driver.machine, driver.slot) + 1)
                return CUDA_ERROR_INVALID_CONTEXT;
        return CUDA_SUCCESS;
}

CUresult ipc_open(struct context *context, const struct ipc_ticket *ticket, bool is_own_fine,
                  struct allocation **ret_allocation)
{
        struct machine_export row;
        CUresult r = ticket_check(ticket, is_own_fine, &row);

        if (r != CUDA_SUCCESS)
                return r;
        pthread_mutex_lock(&ipc.lock);
        struct opening *opening = opening_find(row.number);
        if (!opening)
                r = opening_new(context, &row, &opening);
        if (r == CUDA_SUCCESS) {
                opening->references++;
                *ret_allocation = &opening->piece->allocation;
        }
        pthread_mutex_unlock(&ipc.lock);
        return r;
}

/* With the lock held. */
static void opening_free(struct opening *opening)
{
        struct allocation *allocation = &opening->piece->allocation;
        struct opening **link = &ipc.openings;

        while (*link != opening)
                link = &(*link)->next;
        *link = opening->next;
        arena_lock();
        size_t size = atomic_exchange(&allocation->size, 0);
        arena_withdraw(opening->piece, allocation->base, size);
        arena_forget(run_pages(opening->run), opening->run->count);
        piece_free(opening->piece);
        arena_unlock();
        run_give(opening->run);
        free(opening);
}

void ipc_close(struct allocation *allocation)
{
        struct opening *opening = allocation->owner;

        pthread_mutex_lock(&ipc.lock);
        if (--opening->references == 0)
                opening_free(opening);
        pthread_mutex_unlock(&ipc.lock);
}

void ipc_context_done(struct context *context)
{
        struct opening *next;

        pthread_mutex_lock(&ipc.lock);
        for (struct opening *opening = ipc.openings; opening; opening = next) {
                next = opening->next;
                if (opening->piece->allocation.context == context)
                        opening_free(opening);
        }
        for (struct offer **link = &ipc.offers; *link;) {
                struct offer *offer = *link;
                if (offer->allocation->context != context) {
                        link = &offer->next;
                        continue;
                }
                export_remove(&driver.machine, offer->index, offer->number);
                *link = offer->next;
                free(offer);
                atomic_fetch_sub(&ipc.offer_count, 1);
        }
        pthread_mutex_unlock(&ipc.lock);
}

CUresult sim_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
        struct allocation *allocation = memory_find(dptr);
        struct ipc_ticket ticket;

        if (!pHandle || !allocation || allocation->kind != MEMORY_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = ipc_offer(allocation, &ticket);
        if (r != CUDA_SUCCESS)
                return r;
        memset(pHandle, 0, sizeof *pHandle);
        memcpy(pHandle, &ticket, sizeof ticket);
        return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
        struct allocation *allocation;
        struct ipc_ticket ticket;
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!pdptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&ticket, &handle, sizeof ticket);
        r = ipc_open(context, &ticket, false, &allocation);
        if (r == CUDA_SUCCESS)
                *pdptr = allocation->base;
        return r;
}

CUresult sim_cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
        return sim_cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

CUresult sim_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
        struct allocation *allocation = memory_find(dptr);
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!allocation || allocation->kind != MEMORY_IMPORTED || allocation->base != dptr)
                return CUDA_ERROR_INVALID_VALUE;
        r = context_wait(context);
        if (r == CUDA_SUCCESS)
                ipc_close(allocation);
        return r;
}
