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

static nvmlReturn_t list_answer(char *all, unsigned found, size_t stride, unsigned *count,
                                void *entries)
{
        unsigned room = *count;

        found = nvml_view_keep_own(all, found, stride, 0);
        *count = found;
        if (found == 0)
                return NVML_SUCCESS;
        if (!entries || found > room)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(entries, all, found * stride);
        return NVML_SUCCESS;
}

nvmlReturn_t nvml_view_list(nvml_list_fn *real, nvmlDevice_t device, unsigned *count, void *entries,
                            size_t stride)
{
        if (!count || !nvml_view_is_limited())
                return real(device, count, entries);
        size_t bytes = LIST_MOST * stride;
        char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED)
                return NVML_ERROR_MEMORY;
        unsigned found = LIST_MOST;
        nvmlReturn_t r = real(device, &found, all);
        if (r == NVML_SUCCESS)
                r = list_answer(all, found, stride, count, entries);
        munmap(all, bytes);
        return r;
}
