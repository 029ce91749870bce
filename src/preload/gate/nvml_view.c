/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_view: handles to device indexes, pids to processes of the container. */
#include "nvml_view.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "devices.h"
#include "identity.h"
#include "limits.h"
#include "log.h"
#include "real.h"

bool nvml_view_is_limited(void)
{
        static atomic_bool is_told;
        struct err e = { 0 };

        if (!limits_are_set())
                return false;
        /* A program that only queries, like nvidia-smi, never comes through cuInit. */
        if (identity_open(&e) < 0 && !atomic_exchange(&is_told, true))
                log_error("%s", e.text);
        return true;
}

/* A MIG device is charged under its own UUID, if the share names it, else under its GPU's. */
int nvml_view_device_index(nvmlDevice_t device)
{
        char uuid[96] = "", gpu_uuid[96] = "";
        unsigned index = 0;
        nvmlDevice_t gpu;

        if (real_nvml.nvmlDeviceGetUUID(device, uuid, sizeof uuid) != NVML_SUCCESS)
                return DEVICES_NONE;
        if (real_nvml.nvmlDeviceGetIndex(device, &index) != NVML_SUCCESS)
                return DEVICES_NONE;
        if (!real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle ||
            real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device, &gpu) != NVML_SUCCESS ||
            real_nvml.nvmlDeviceGetUUID(gpu, gpu_uuid, sizeof gpu_uuid) != NVML_SUCCESS)
                return limits_device_index(uuid, index);
        return limits_device_index_within(uuid, gpu_uuid, index);
}

unsigned nvml_view_keep_own(void *entries, unsigned count, size_t stride, size_t offset)
{
        unsigned kept = 0;

        for (unsigned i = 0; i < count; i++) {
                char *entry = (char *)entries + i * stride;
                unsigned pid;
                memcpy(&pid, entry + offset, sizeof pid);
                pid = identity_own_pid(pid);
                if (!pid)
                        continue;
                memcpy(entry + offset, &pid, sizeof pid);
                if (kept != i)
                        memmove((char *)entries + kept * stride, entry, stride);
                kept++;
        }
        return kept;
}

enum { LIST_MOST = 4096 }; /* processes on one GPU */

bool nvml_buffer_make(struct nvml_buffer *buffer)
{
        void *entries = mmap(NULL, LIST_MOST * buffer->stride, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        buffer->entries = entries;
        buffer->count = LIST_MOST;
        return entries != MAP_FAILED;
}

void nvml_buffer_done(struct nvml_buffer *buffer)
{
        munmap(buffer->entries, LIST_MOST * buffer->stride);
}

nvmlReturn_t nvml_buffer_answer(struct nvml_buffer *buffer, unsigned found, unsigned *count,
                                void *entries)
{
        unsigned space = *count;

        found = nvml_view_keep_own(buffer->entries, found, buffer->stride, buffer->pid);
        *count = found;
        if (found == 0)
                return NVML_SUCCESS;
        if (!entries || found > space)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(entries, buffer->entries, found * buffer->stride);
        return NVML_SUCCESS;
}

nvmlReturn_t nvml_view_list(nvml_list_fn *real, nvmlDevice_t device, unsigned *count, void *entries,
                            size_t stride)
{
        struct nvml_buffer buffer = { .stride = stride };

        if (!count || !nvml_view_is_limited())
                return real(device, count, entries);
        if (!nvml_buffer_make(&buffer))
                return NVML_ERROR_MEMORY;
        unsigned found = buffer.count;
        nvmlReturn_t r = real(device, &found, buffer.entries);
        if (r == NVML_SUCCESS)
                r = nvml_buffer_answer(&buffer, found, count, entries);
        nvml_buffer_done(&buffer);
        return r;
}
