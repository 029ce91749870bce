/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory between processes: a handle that is exported is a reference (reference.h), whose last one
 * keeps the memory on the GPU; its contents move to a file in shared memory. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "export.h"
#include "ipc.h"
#include "reference.h"
#include "scope.h"
#include "shared.h"
#include "sim_cuda.h"
#include "vmm.h"

static_assert(sizeof(CUmemAllocationProp) <= sizeof(((struct machine_export *)0)->detail),
              "a row tells the properties");

/* The contents in a file of their own. */
static int contents_file(struct physical *physical, const char *path)
{
        autoclose int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (fd < 0)
                return -1;
        if (ftruncate(fd, (off_t)physical->size) < 0 || shared_make(physical->run, fd) < 0) {
                unlink(path);
                return -1;
        }
        return steal_fd(fd);
}

/* The row comes first: should we die here, who cleans up finds the file by it. */
static bool physical_share(struct physical *physical)
{
        struct machine_export row = {
                .kind = EXPORT_HANDLE,
                .unit = physical->device->unit,
                .bytes = physical->size,
        };
        char path[EXPORT_PATH_BYTES];
        uint64_t number;
        uint32_t index;

        memcpy(row.detail, &physical->props, sizeof physical->props);
        /* Nothing may be written while the contents move. */
        if (context_current())
                context_wait(context_current());
        if (export_add(&driver.machine, driver.slot, &row, &index, &number) < 0)
                return false;
        export_path(&driver.machine, number, path);
        physical->fd = contents_file(physical, path);
        if (physical->fd < 0) {
                export_remove(&driver.machine, index, number);
                return false;
        }
        physical->row = index;
        physical->number = number;
        return true;
}

/* What an import was exported as may be exported on: its row is the same. */
static CUresult physical_export(struct physical *physical, int *ret_fd)
{
        if (!physical->number && !physical_share(physical))
                return CUDA_ERROR_OUT_OF_MEMORY;
        int fd = reference_new(&driver.machine, physical->row, physical->number);
        if (fd < 0)
                return CUDA_ERROR_OPERATING_SYSTEM;
        *ret_fd = fd;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemExportToShareableHandle(void *shareableHandle,
                                          CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        if (!shareableHandle || flags)
                return r;
        if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        vmm_lock();
        struct physical *physical = physical_get(handle);
        if (physical && physical->props.requestedHandleTypes & handleType)
                r = physical_export(physical, shareableHandle);
        vmm_unlock();
        return r;
}

/* While the reference lives the row stays, and its file. */
static CUresult contents_map(struct physical *physical)
{
        char path[EXPORT_PATH_BYTES];

        export_path(&driver.machine, physical->number, path);
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || shared_map(physical->run, fd) < 0)
                return CUDA_ERROR_OPERATING_SYSTEM;
        physical->fd = steal_fd(fd);
        return CUDA_SUCCESS;
}

static CUresult physical_import(uint32_t index, const struct machine_export *row, int reference,
                                struct physical **ret_physical)
{
        struct device *device = ipc_device(row->unit);
        CUmemAllocationProp props;

        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        memcpy(&props, row->detail, sizeof props);
        props.location.id = device->ordinal;
        CUresult r = physical_new(device, row->bytes, &props, true, ret_physical);
        if (r != CUDA_SUCCESS)
                return r;
        (*ret_physical)->row = index;
        (*ret_physical)->number = row->number;
        r = contents_map(*ret_physical);
        if (r == CUDA_SUCCESS)
                (*ret_physical)->reference = reference;
        else
                physical_put(*ret_physical, &(*ret_physical)->references);
        return r;
}

CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                            CUmemAllocationHandleType shHandleType)
{
        struct machine_export row;
        struct physical *physical;
        uint32_t index;

        if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!handle || reference_row(&driver.machine, (int)(intptr_t)osHandle, &index, &row) < 0)
                return CUDA_ERROR_INVALID_VALUE;
        autoclose int reference = reference_new(&driver.machine, index, row.number);
        if (reference < 0)
                return CUDA_ERROR_OPERATING_SYSTEM;
        vmm_lock();
        CUresult r = physical_import(index, &row, reference, &physical);
        if (r == CUDA_SUCCESS) {
                reference = -1; /* the import's */
                *handle = physical->handle;
        }
        vmm_unlock();
        return r;
}
