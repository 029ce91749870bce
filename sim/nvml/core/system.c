/* SPDX-License-Identifier: Apache-2.0 */
/* system: versions, process names, what the machine as a whole has. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "pid.h"
#include "scope.h"
#include "slot.h"
#include "target.h"

static const struct machine_header *header(void)
{
        return &session_machine()->file->header;
}

/* Works without nvmlInit, like the real one: it reads the driver, not the session. */
nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion_v2(int *version)
{
        nvmlReturn_t r;

        if (!version)
                return NVML_ERROR_INVALID_ARGUMENT;
        r = session_open();
        if (r != NVML_SUCCESS)
                return r;
        *version = (int)header()->driver_version;
        return session_close();
}

nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion(int *version)
{
        return sim_nvmlSystemGetCudaDriverVersion_v2(version);
}

nvmlReturn_t sim_nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
        return target_text(header()->driver_text, version, length);
}

/* Works without nvmlInit too. */
nvmlReturn_t sim_nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
        char text[64];
        nvmlReturn_t r;

        if (!version)
                return NVML_ERROR_INVALID_ARGUMENT;
        r = session_open();
        if (r != NVML_SUCCESS)
                return r;
        snprintf(text, sizeof text, "%u.%s", header()->driver_version / 1000,
                 header()->driver_text);
        session_close();
        return target_text(text, version, length);
}

nvmlReturn_t sim_nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *info, unsigned int length)
{
        char text[sizeof info->branch];

        if (!info)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (info->version != NVML_VERSION_OF(nvmlSystemDriverBranchInfo_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        snprintf(text, sizeof text, "r%.*s_00", (int)strcspn(header()->driver_text, "."),
                 header()->driver_text);
        return target_text(text, info->branch,
                           length < sizeof info->branch ? length : (unsigned)sizeof info->branch);
}

/* Of a process that is attached, else of any the kernel shows us. */
static bool process_name(unsigned pid, char *name, size_t bytes)
{
        struct machine *machine = session_machine();
        uint32_t high = atomic_load(&machine->file->header.slots_high);
        char path[64];

        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot *slot = &machine->file->slots[i];
                if (slot_is_alive(machine, i) && pid_of(slot) == pid) {
                        snprintf(name, bytes, "%s", slot->path);
                        return true;
                }
        }
        snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, name, bytes - 1);
        if (length <= 0)
                return false;
        name[length] = '\0';
        return true;
}

nvmlReturn_t sim_nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
        char text[PATH_MAX];

        if (!name || length == 0)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!process_name(pid, text, sizeof text))
                return NVML_ERROR_NOT_FOUND;
        /* A long name is cut, not refused. */
        snprintf(name, length, "%s", text);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemGetHicVersion(unsigned int *count, nvmlHwbcEntry_t *entries)
{
        (void)entries;
        if (!count)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemGetNvlinkBwMode(unsigned int *mode)
{
        if (!mode)
                return NVML_ERROR_INVALID_ARGUMENT;
        *mode = 0; /* full */
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemSetNvlinkBwMode(unsigned int mode)
{
        return mode == 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t count_nothing(unsigned int *count)
{
        if (!count)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGetExcludedDeviceCount(unsigned int *count)
{
        return count_nothing(count);
}

nvmlReturn_t sim_nvmlGetBlacklistDeviceCount(unsigned int *count)
{
        return count_nothing(count);
}

nvmlReturn_t sim_nvmlGetExcludedDeviceInfoByIndex(unsigned int index,
                                                  nvmlExcludedDeviceInfo_t *info)
{
        (void)index, (void)info;
        return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlGetBlacklistDeviceInfoByIndex(unsigned int index,
                                                   nvmlExcludedDeviceInfo_t *info)
{
        (void)index, (void)info;
        return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlDeviceValidateInforom(nvmlDevice_t device)
{
        struct target t;

        return target_gpu(device, device, &t);
}

nvmlReturn_t sim_nvmlDeviceQueryDrainState(nvmlPciInfo_t *pci, nvmlEnableState_t *state)
{
        if (!pci || !state)
                return NVML_ERROR_INVALID_ARGUMENT;
        *state = NVML_FEATURE_DISABLED;
        return NVML_SUCCESS;
}
