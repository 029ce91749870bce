/* Settings by environment: the names. */
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 5 };

static const char *const setting_names[SETTING_COUNT][NAMES] = {
        [SETTING_MEMORY_LIMIT] = { "VGPU_MEMORY_LIMIT", "CUDA_MEM_LIMIT",
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

/* In the place of the environment; NULL: none is. */
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

const char *setting_get(enum setting setting, int device, char name[64])
{
        for (unsigned i = 0; device >= 0 && i < NAMES && setting_names[setting][i]; i++) {
                snprintf(name, 64, "%s_%d", setting_names[setting][i], device);
                const char *value = variable_get(name);
                if (value)
                        return value;
        }
        for (unsigned i = 0; i < NAMES && setting_names[setting][i]; i++) {
                snprintf(name, 64, "%s", setting_names[setting][i]);
                const char *value = variable_get(name);
                if (value)
                        return value;
        }
        return NULL;
}

bool setting_is_named(enum setting setting, const char *variable)
{
        const size_t length = strcspn(variable, "=");

        for (unsigned i = 0; i < NAMES && setting_names[setting][i]; i++) {
                const size_t own = strlen(setting_names[setting][i]);

                if (length < own || strncmp(variable, setting_names[setting][i], own) != 0)
                        continue;
                if (length == own)
                        return true;
                if (variable[own] == '_' && length > own + 1 &&
                    strspn(variable + own + 1, "0123456789") == length - own - 1)
                        return true;
        }
        return false;
}
