/* SPDX-License-Identifier: Apache-2.0 */
/* Settings by environment: the names. */
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 5 };

static const char *const setting_names[SETTING_COUNT][NAMES] = {
        [SETTING_MEMORY_LIMIT] = { "VGPU_MEMORY_LIMIT", "VGPU_MEMORY", "CUDA_MEM_LIMIT",
                                   "CUDA_DEVICE_MEMORY_LIMIT" },
        [SETTING_MEMORY_RATIO] = { "VGPU_MEMORY_RATIO", "CUDA_MEM_RATIO" },
        [SETTING_MEMORY_OVERSOLD] = { "VGPU_MEMORY_OVERSOLD", "CUDA_MEM_OVERSOLD",
                                      "CUDA_OVERSUBSCRIBE" },
        [SETTING_OVERSOLD_HOST_MEMORY] = { "VGPU_OVERSOLD_HOST_MEMORY" },
        [SETTING_CONTEXT_MEMORY] = { "VGPU_CONTEXT_MEMORY" },
        [SETTING_CORES] = { "VGPU_CORES", "CUDA_CORE_LIMIT", "CUDA_DEVICE_SM_LIMIT" },
        [SETTING_CORES_MAX] = { "VGPU_CORES_MAX", "CUDA_CORE_SOFT_LIMIT" },
        [SETTING_CORES_POLICY] = { "VGPU_CORES_POLICY", "GPU_CORE_UTILIZATION_POLICY" },
        [SETTING_PRIORITY] = { "VGPU_PRIORITY", "CUDA_TASK_PRIORITY" },
        [SETTING_COPIES] = { "VGPU_COPIES" },
        /* The fourth has a number and one UUID: MANAGER_VISIBLE_DEVICE_0. */
        [SETTING_DEVICES] = { "VGPU_DEVICES", "GPU_DEVICES_UUID", "MANAGER_VISIBLE_DEVICES",
                              "MANAGER_VISIBLE_DEVICE", "NVIDIA_VISIBLE_DEVICES" },
        [SETTING_REGION] = { "VGPU_REGION", "CUDA_DEVICE_MEMORY_SHARED_CACHE" },
        [SETTING_COMPATIBILITY] = { "VGPU_COMPAT", "ENV_COMPATIBILITY_MODE",
                                    "MANAGER_COMPATIBILITY_MODE" },
        [SETTING_LOG] = { "VGPU_LOG", "LOGGER_LEVEL", "LIBCUDA_LOG_LEVEL" },
        [SETTING_POD_NAME] = { "VGPU_POD_NAME" },
        [SETTING_POD_NAMESPACE] = { "VGPU_POD_NAMESPACE" },
        [SETTING_POD_UID] = { "VGPU_POD_UID" },
        [SETTING_CONTAINER_NAME] = { "VGPU_CONTAINER_NAME" },
};

extern char **environ;

/* Instead of the environment; NULL: none is. */
static char *const *lent;

void setting_lend(char *const *variables)
{
        lent = variables;
}

char *const *setting_variables(void)
{
        return lent ? lent : environ;
}

static const char *variable_get(const char *name)
{
        const size_t length = strlen(name);

        if (!lent)
                return getenv(name);
        for (char *const *entry = lent; *entry; entry++)
                if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
                        return *entry + length + 1;
        return NULL;
}

const char *setting_name(enum setting setting)
{
        return setting_names[setting][0];
}

/* A limit that is empty is a mistake; a list, a path, a name or a log level that is empty is as if unset. */
static bool is_text(enum setting setting)
{
        return setting >= SETTING_DEVICES && setting != SETTING_COMPATIBILITY;
}

const char *setting_get_as(enum setting setting, unsigned number, int device, char name[64])
{
        const char *alias = setting_alias(setting, number);

        if (device >= 0)
                snprintf(name, 64, "%s_%d", alias, device);
        else
                snprintf(name, 64, "%s", alias);
        const char *value = variable_get(name);
        return value && !*value && is_text(setting) ? NULL : value;
}

const char *setting_get(enum setting setting, int device, char name[64])
{
        for (; device >= -1; device = device >= 0 ? -1 : -2)
                for (unsigned i = 0; setting_alias(setting, i); i++) {
                        const char *value = setting_get_as(setting, i, device, name);
                        if (value)
                                return value;
                }
        return NULL;
}

const char *setting_alias(enum setting setting, unsigned number)
{
        return number < NAMES ? setting_names[setting][number] : NULL;
}

/* May its names have a device's number behind them? */
static bool setting_is_numbered(enum setting setting)
{
        return setting <= SETTING_DEVICES;
}

/* The number behind NAME_ of this length; −1: it is none. As setting_get() writes it: "_01" is not "_1". */
static int number_read(const char *digits, size_t length)
{
        int number = 0;

        if (length == 0 || length > 6 || (length > 1 && digits[0] == '0'))
                return -1;
        for (size_t i = 0; i < length; i++) {
                if (digits[i] < '0' || digits[i] > '9')
                        return -1;
                number = number * 10 + (digits[i] - '0');
        }
        return number;
}

/* Is this one of the setting's names? *ret_device: the number behind it, or −1. */
static bool name_matches(enum setting setting, const char *variable, size_t length, int *ret_device)
{
        for (unsigned i = 0; i < NAMES && setting_names[setting][i]; i++) {
                if (setting_names[setting][i][0] != variable[0])
                        continue;
                const size_t own = strlen(setting_names[setting][i]);

                if (length < own || memcmp(variable, setting_names[setting][i], own) != 0)
                        continue;
                *ret_device = -1;
                if (length == own)
                        return true;
                if (variable[own] != '_' || !setting_is_numbered(setting))
                        continue;
                *ret_device = number_read(variable + own + 1, length - own - 1);
                if (*ret_device >= 0)
                        return true;
        }
        return false;
}

bool setting_is_named(enum setting setting, const char *variable)
{
        int device;

        return name_matches(setting, variable, strcspn(variable, "="), &device);
}

bool setting_find(const char *variable, enum setting *ret_setting, int *ret_device)
{
        const size_t length = strcspn(variable, "=");

        for (enum setting i = 0; i < SETTING_COUNT; i++)
                if (name_matches(i, variable, length, ret_device)) {
                        *ret_setting = i;
                        return true;
                }
        return false;
}
