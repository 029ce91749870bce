/* nvml_view: handles to accounts, pids to processes of the container. */
#include "nvml_view.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "devices.h"
#include "identity.h"
#include "limits.h"
#include "log.h"
#include "start.h"

bool nvml_view_is_limited(void)
{
        static atomic_bool is_told;
        struct err e = { 0 };

        if (!limits_are_set())
                return false;
        /* A program that only looks, like nvidia-smi, never comes through cuInit. */
        if (identity_open(&e) < 0 && !atomic_exchange(&is_told, true))
                log_error("%s", e.text);
        return true;
}

static int handle_account(nvmlDevice_t device)
{
        char uuid[96] = "";
        unsigned index = 0;

        if (real_nvml.nvmlDeviceGetUUID(device, uuid, sizeof uuid) != NVML_SUCCESS)
                return DEVICES_NONE;
        if (real_nvml.nvmlDeviceGetIndex(device, &index) != NVML_SUCCESS)
                return DEVICES_NONE;
        return limits_account(uuid, index);
}

/* A MIG device is charged under its own UUID, if the share names it, else under its GPU's. */
int nvml_view_account(nvmlDevice_t device)
{
        int account = handle_account(device);
        nvmlDevice_t gpu;

        if (account == DEVICES_NONE && real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle &&
            real_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device, &gpu) == NVML_SUCCESS)
                account = handle_account(gpu);
        return account;
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

enum { LIST_MOST = 4096 }; /* processes on one card */

bool nvml_room_make(struct nvml_room *room)
{
        void *entries = mmap(NULL, LIST_MOST * room->stride, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        room->entries = entries;
        room->count = LIST_MOST;
        return entries != MAP_FAILED;
}

void nvml_room_done(struct nvml_room *room)
{
        munmap(room->entries, LIST_MOST * room->stride);
}

nvmlReturn_t nvml_room_answer(struct nvml_room *room, unsigned found, unsigned *count,
                              void *entries)
{
        unsigned space = *count;

        found = nvml_view_keep_own(room->entries, found, room->stride, room->pid);
        *count = found;
        if (found == 0)
                return NVML_SUCCESS;
        if (!entries || found > space)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(entries, room->entries, found * room->stride);
        return NVML_SUCCESS;
}

nvmlReturn_t nvml_view_list(nvml_list_fn *real, nvmlDevice_t device, unsigned *count, void *entries,
                            size_t stride)
{
        struct nvml_room room = { .stride = stride };

        if (!count || !nvml_view_is_limited())
                return real(device, count, entries);
        if (!nvml_room_make(&room))
                return NVML_ERROR_MEMORY;
        unsigned found = room.count;
        nvmlReturn_t r = real(device, &found, room.entries);
        if (r == NVML_SUCCESS)
                r = nvml_room_answer(&room, found, count, entries);
        nvml_room_done(&room);
        return r;
}
