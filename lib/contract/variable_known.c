/* SPDX-License-Identifier: Apache-2.0 */
/* variable_known: lists. A variable that a program of ours begins to read belongs here (a test checks). */
#include "variable_known.h"

#include <string.h>

#include "nearest.h"

/* Read by our programs and tests; what begins with VGPU_ and is not here is told as unknown. */
static const char *const own_names[] = {
        "VGPU_BURN",         "VGPU_CACHE",
        "VGPU_KILL_STRIDE",  "VGPU_LIB",
        "VGPU_NODE",         "VGPU_NODE_SOCKET",
        "VGPU_REGISTRY",     "VGPU_RUNTIME_CDI",
        "VGPU_RUNTIME_CONF", "VGPU_RUNTIME_PASSED",
        "VGPU_RUNTIME_REAL", "VGPU_RUN_FOLDERS",
        "VGPU_SHARE",        "VGPU_SIM",
        "VGPU_SIM_GRAPHICS", "VGPU_SIM_LIB",
        "VGPU_SIM_LOG",      "VGPU_SIM_MPS",
        "VGPU_SIM_PROC",     "VGPU_SIM_STRICT",
        "VGPU_SIM_VIDEO",    "VGPU_VERSION",
};

/* Of the tests. */
static const char *const own_beginnings[] = { "VGPU_E2E_", "VGPU_STORM_", "VGPU_TEST_" };

/* Documented by NVIDIA (CUDA's programming guide and debugger), and so close to a limit's that the rules
 * for misspelt names might take them for one. */
static const char *const cuda_names[] = {
        "CUDA_AUTO_BOOST",
        "CUDA_CACHE_DISABLE",
        "CUDA_CACHE_MAXSIZE",
        "CUDA_CACHE_PATH",
        "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
        "CUDA_DEVICE_ORDER",
        "CUDA_DEVICE_WAITS_ON_EXCEPTION",
        "CUDA_DISABLE_JIT",
        "CUDA_DISABLE_PTX_JIT",
        "CUDA_FORCE_JIT",
        "CUDA_FORCE_PRELOAD_LIBRARIES",
        "CUDA_FORCE_PTX_JIT",
        "CUDA_HOME",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_LOG_FILE",
        "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
        "CUDA_MEMCHECK",
        "CUDA_MODULE_DATA_LOADING",
        "CUDA_MODULE_LOADING",
        "CUDA_PATH",
        "CUDA_SCALE_LAUNCH_QUEUES",
        "CUDA_VERSION",
        "CUDA_VISIBLE_DEVICES",
};

/* Whole families of theirs. */
static const char *const cuda_beginnings[] = {
        "CUDA_BINARY_",  "CUDA_COREDUMP_", "CUDA_DEBUGGER_", "CUDA_EGL_",
        "CUDA_ENABLE_",  "CUDA_ERROR_",    "CUDA_GRAPHS_",   "CUDA_INJECTION",
        "CUDA_MEMCHECK", "CUDA_MPS_",      "CUDA_PROFILE",   "CUDA_TOOLKIT_",
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static bool is_one_of(const char *const *list, size_t count, const char *name, size_t length)
{
        for (size_t i = 0; i < count; i++)
                if (strncmp(list[i], name, length) == 0 && !list[i][length])
                        return true;
        return false;
}

static bool begins_as(const char *const *list, size_t count, const char *name)
{
        for (size_t i = 0; i < count; i++)
                if (strncmp(name, list[i], strlen(list[i])) == 0)
                        return true;
        return false;
}

bool variable_is_known(const char *variable)
{
        const size_t length = strcspn(variable, "=");

        if (strncmp(variable, "VGPU_", 5) == 0)
                return is_one_of(own_names, COUNT(own_names), variable, length) ||
                       begins_as(own_beginnings, COUNT(own_beginnings), variable);
        if (strncmp(variable, "CUDA_", 5) == 0)
                return is_one_of(cuda_names, COUNT(cuda_names), variable, length) ||
                       begins_as(cuda_beginnings, COUNT(cuda_beginnings), variable);
        return false;
}

const char *variable_nearest_known(const char *name, unsigned far)
{
        struct nearest nearest = { 0 };

        for (size_t i = 0; i < COUNT(own_names); i++)
                nearest_offer(&nearest, name, own_names[i]);
        return nearest.distance < far ? nearest.word : NULL;
}

/* A Service named vgpu-cores has VGPU_CORES_SERVICE_HOST, _SERVICE_PORT and _SERVICE_PORT_HTTPS, _PORT,
 * _PORT_443_TCP and _PORT_443_TCP_ADDR; and one named vgpu VGPU_PORT. */
bool variable_is_injected(const char *name)
{
        if (strstr(name, "_SERVICE_"))
                return true;
        for (const char *port = strstr(name, "_PORT"); port; port = strstr(port + 1, "_PORT"))
                if (port[5] == '\0' || port[5] == '_')
                        return true;
        return false;
}
