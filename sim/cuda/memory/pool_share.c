/* SPDX-License-Identifier: Apache-2.0 */
/* Pools between processes: the pool by file descriptor, its allocations by ticket. */
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "ipc.h"
#include "lookup.h"
#include "pool.h"
#include "sim_cuda.h"

#define LETTER_MAGIC UINT64_C(0x6c6f6f7072657474)

/* What the file descriptor of a pool holds. */
struct letter {
        uint64_t magic;
        uint8_t machine[16];
        uint64_t unit;
        uint64_t number; /* of the pool */
        CUmemPoolProps props;
};

/* What the exported pointer holds. */
struct pointer_letter {
        struct ipc_ticket ticket;
        uint64_t number; /* of its pool: no other pool may import it */
};
static_assert(sizeof(struct pointer_letter) <= sizeof(CUmemPoolPtrExportData), "it must fit");

/* Tells exported pools of all processes apart. */
static uint64_t pool_number(struct pool *pool)
{
        uint64_t none = 0, number = 0;

        while (!number)
                if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
                        number = 0;
        __atomic_compare_exchange_n(&pool->export_number, &none, number, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        return __atomic_load_n(&pool->export_number, __ATOMIC_RELAXED);
}

CUresult sim_cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                              CUmemAllocationHandleType handleType,
                                              unsigned long long flags)
{
        struct pool *known = pool_get(pool);

        if (!handle_out || !known || flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!(known->props.handleTypes & handleType) || known->is_imported)
                return CUDA_ERROR_INVALID_VALUE;
        struct letter letter = {
                .magic = LETTER_MAGIC,
                .unit = known->device->unit,
                .number = pool_number(known),
                .props = known->props,
        };
        memcpy(letter.machine, driver.machine.file->header.id, sizeof letter.machine);
        int fd = memfd_create("vgpu-pool", MFD_CLOEXEC);
        if (fd < 0)
                return CUDA_ERROR_OPERATING_SYSTEM;
        if (pwrite(fd, &letter, sizeof letter, 0) != (ssize_t)sizeof letter) {
                close(fd);
                return CUDA_ERROR_OPERATING_SYSTEM;
        }
        *(int *)handle_out = fd;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                CUmemAllocationHandleType handleType,
                                                unsigned long long flags)
{
        int fd = (int)(intptr_t)handle;
        struct letter letter;
        struct pool *pool;

        if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!pool_out || flags || pread(fd, &letter, sizeof letter, 0) != (ssize_t)sizeof letter ||
            letter.magic != LETTER_MAGIC ||
            memcmp(letter.machine, driver.machine.file->header.id, sizeof letter.machine))
                return CUDA_ERROR_INVALID_VALUE;
        struct device *device = ipc_device(letter.unit);
        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        letter.props.location.id = device->ordinal;
        CUresult r = pool_new(device, &letter.props, &pool);
        if (r != CUDA_SUCCESS)
                return r;
        pool->is_imported = true;
        pool->export_number = letter.number;
        *pool_out = (CUmemoryPool)pool;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
        struct allocation *allocation = memory_find(ptr);
        struct pointer_letter letter = { 0 };

        if (!shareData_out || !allocation || allocation->kind != MEMORY_POOL ||
            !(allocation->pool->props.handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = ipc_offer(allocation, &letter.ticket);
        if (r != CUDA_SUCCESS)
                return r;
        letter.number = pool_number(allocation->pool);
        memset(shareData_out, 0, sizeof *shareData_out);
        memcpy(shareData_out, &letter, sizeof letter);
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                    CUmemPoolPtrExportData *shareData)
{
        struct pool *known = pool_get(pool);
        struct pointer_letter letter;
        struct allocation *allocation;

        if (!ptr_out || !known || !known->is_imported || !shareData)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(&letter, shareData, sizeof letter);
        if (letter.number != known->export_number)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = ipc_open(context_current(), &letter.ticket, true, &allocation);
        if (r != CUDA_SUCCESS)
                return r;
        allocation->pool = known;
        *ptr_out = allocation->base;
        return CUDA_SUCCESS;
}
