/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemCreate and what is done with its handles. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"
#include "ipc.h"
#include "lookup.h"
#include "shared.h"
#include "sim_cuda.h"
#include "vmm.h"

#define TRAILER_MAGIC UINT64_C(0x6c61636973796870)
#define TRAILER_BYTES 4096

/* Behind the contents in an exported file: what the importer must know. */
struct trailer {
        uint64_t magic;
        uint8_t machine[16];
        uint64_t unit;
        uint64_t size;
        CUmemAllocationProp props;
};

static CUresult props_check(const CUmemAllocationProp *prop)
{
        if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
                return CUDA_ERROR_INVALID_VALUE;
        if (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_NOT_SUPPORTED;
        return driver_device(prop->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *prop, unsigned long long flags)
{
        struct physical *physical;
        CUresult r = props_check(prop);

        if (r != CUDA_SUCCESS)
                return r;
        if (!handle || !size || size & PAGE_MASK || flags)
                return CUDA_ERROR_INVALID_VALUE;
        vmm_lock();
        r = physical_new(driver_device(prop->location.id), size, prop, false, &physical);
        if (r == CUDA_SUCCESS)
                *handle = physical->handle;
        vmm_unlock();
        return r;
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        vmm_lock();
        struct physical *physical = physical_get(handle);
        if (physical && physical->references) {
                physical_put(physical, &physical->references);
                r = CUDA_SUCCESS;
        }
        vmm_unlock();
        return r;
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        if (!handle)
                return r;
        vmm_lock();
        struct allocation *allocation = memory_find((CUdeviceptr)(uintptr_t)addr);
        if (allocation && allocation->kind == MEMORY_MAPPED) {
                struct mapping *mapping = allocation->owner;
                mapping->physical->references++;
                *handle = mapping->physical->handle;
                r = CUDA_SUCCESS;
        }
        vmm_unlock();
        return r;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
        CUresult r = props_check(prop);

        if (r != CUDA_SUCCESS)
                return r;
        if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                             option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
                return CUDA_ERROR_INVALID_VALUE;
        *granularity = PAGE_BYTES;
        return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                    CUmemGenericAllocationHandle handle)
{
        CUresult r = CUDA_ERROR_INVALID_VALUE;

        if (!prop)
                return r;
        vmm_lock();
        struct physical *physical = physical_get(handle);
        if (physical) {
                *prop = physical->props;
                r = CUDA_SUCCESS;
        }
        vmm_unlock();
        return r;
}

/* Moves the contents into a file of their own. */
static bool physical_share(struct physical *physical)
{
        struct trailer trailer = {
                .magic = TRAILER_MAGIC,
                .unit = physical->device->unit,
                .size = physical->size,
                .props = physical->props,
        };
        /* Nothing may be written while the contents move. */
        if (context_current())
                context_wait(context_current());
        int fd = memfd_create("vgpu-memory", MFD_CLOEXEC);

        if (fd < 0)
                return false;
        memcpy(trailer.machine, driver.machine.file->header.id, sizeof trailer.machine);
        if (ftruncate(fd, (off_t)physical->size + TRAILER_BYTES) < 0 ||
            pwrite(fd, &trailer, sizeof trailer, (off_t)physical->size) !=
                    (ssize_t)sizeof trailer ||
            shared_make(physical->run, fd) < 0) {
                close(fd);
                return false;
        }
        physical->fd = fd;
        return true;
}

CUresult sim_cuMemExportToShareableHandle(void *shareableHandle,
                                          CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType handleType,
                                          unsigned long long flags)
{
        CUresult r = CUDA_SUCCESS;

        if (!shareableHandle || flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        vmm_lock();
        struct physical *physical = physical_get(handle);
        if (!physical || !(physical->props.requestedHandleTypes & handleType)) {
                r = CUDA_ERROR_INVALID_VALUE;
        } else if (physical->fd < 0 && !physical_share(physical)) {
                r = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
                int fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
                if (fd < 0)
                        r = CUDA_ERROR_OPERATING_SYSTEM;
                else
                        *(int *)shareableHandle = fd;
        }
        vmm_unlock();
        return r;
}

/* What the file says of itself; false: it is none of ours, or of another machine. */
static bool trailer_read(int fd, struct trailer *ret)
{
        struct stat st;

        if (fstat(fd, &st) < 0 || st.st_size < TRAILER_BYTES)
                return false;
        if (pread(fd, ret, sizeof *ret, st.st_size - TRAILER_BYTES) != (ssize_t)sizeof *ret)
                return false;
        return ret->magic == TRAILER_MAGIC && ret->size == (uint64_t)st.st_size - TRAILER_BYTES &&
               !(ret->size & PAGE_MASK) && ret->size &&
               !memcmp(ret->machine, driver.machine.file->header.id, sizeof ret->machine);
}

static CUresult physical_import(int fd, const struct trailer *trailer,
                                struct physical **ret_physical)
{
        struct device *device = ipc_device(trailer->unit);
        CUmemAllocationProp props = trailer->props;

        if (!device)
                return CUDA_ERROR_INVALID_DEVICE;
        props.location.id = device->ordinal;
        CUresult r = physical_new(device, trailer->size, &props, true, ret_physical);
        if (r != CUDA_SUCCESS)
                return r;
        int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (own >= 0 && shared_map((*ret_physical)->run, own) == 0) {
                (*ret_physical)->fd = own;
                return CUDA_SUCCESS;
        }
        if (own >= 0)
                close(own);
        physical_put(*ret_physical, &(*ret_physical)->references);
        return CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                            CUmemAllocationHandleType shHandleType)
{
        int fd = (int)(intptr_t)osHandle;
        struct physical *physical;
        struct trailer trailer;

        if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!handle || !trailer_read(fd, &trailer))
                return CUDA_ERROR_INVALID_VALUE;
        vmm_lock();
        CUresult r = physical_import(fd, &trailer, &physical);
        if (r == CUDA_SUCCESS)
                *handle = physical->handle;
        vmm_unlock();
        return r;
}
