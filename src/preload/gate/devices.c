/* SPDX-License-Identifier: Apache-2.0 */
/* devices: by UUID. Limits by environment are numbered in NVML's order, which CUDA_VISIBLE_DEVICES
 * does not change. */
#include "devices.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "log.h"
#include "real.h"

enum { ORDINALS = 64 };

static struct {
        int indexes[ORDINALS];
        nvmlDevice_t handles[ORDINALS];
        int count;
        _Atomic uint64_t totals[ORDINALS];
        _Atomic uint64_t ended; /* contexts so far */
} devices;

static void uuid_print(const CUuuid *uuid, const char *prefix, char text[DEVICES_UUID])
{
        unsigned char bytes[16];

        memcpy(bytes, uuid, sizeof bytes);
        char *end = text + sprintf(text, "%s-", prefix);
        for (unsigned i = 0; i < 16; i++)
                end += sprintf(end, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               bytes[i]);
}

/* The device's own UUID and, through it, NVML's handle and position; its CUDA number where NVML cannot
 * say. CUDA does not tell a MIG device's UUID from a GPU's, NVML does. */
static unsigned ordinal_position(int ordinal, const CUuuid *uuid, bool has_nvml,
                                 char text[DEVICES_UUID])
{
        static const char *const prefixes[] = { "MIG", "GPU" };
        unsigned position = (unsigned)ordinal;

        for (unsigned i = 0; i < 2; i++) {
                nvmlDevice_t device;
                uuid_print(uuid, prefixes[i], text);
                if (!has_nvml || real_nvml.nvmlDeviceGetHandleByUUID(text, &device) != NVML_SUCCESS)
                        continue;
                devices.handles[ordinal] = device;
                real_nvml.nvmlDeviceGetIndex(device, &position);
                break;
        }
        return position;
}

static void uuid_read(int ordinal, CUuuid *ret_own, CUuuid *ret_gpu)
{
        real_cuda.cuDeviceGetUuid(ret_gpu, ordinal);
        if (!real_cuda.cuDeviceGetUuid_v2 ||
            real_cuda.cuDeviceGetUuid_v2(ret_own, ordinal) != CUDA_SUCCESS)
                *ret_own = *ret_gpu;
}

bool devices_uuid(int ordinal, const char *prefix, char ret_uuid[DEVICES_UUID])
{
        CUuuid gpu = { 0 }, own = { 0 };

        if (real_cuda.cuDeviceGetUuid(&gpu, ordinal) != CUDA_SUCCESS)
                return false;
        uuid_read(ordinal, &own, &gpu);
        uuid_print(&own, prefix, ret_uuid);
        return true;
}

/* A MIG device is charged under its own UUID if the share names it, else under its GPU's, which the
 * first version of the call tells. */
static int ordinal_device_index(int ordinal, bool has_nvml)
{
        CUuuid gpu = { 0 }, own = { 0 };
        char text[DEVICES_UUID], gpu_text[DEVICES_UUID];

        uuid_read(ordinal, &own, &gpu);
        unsigned position = ordinal_position(ordinal, &own, has_nvml, text);
        uuid_print(&gpu, "GPU", gpu_text);
        return limits_device_index_within(text, gpu_text, position);
}

void devices_map(bool has_nvml)
{
        real_cuda.cuDeviceGetCount(&devices.count);
        for (int i = 0; i < devices.count && i < ORDINALS; i++) {
                size_t bytes = 0;
                devices.indexes[i] = ordinal_device_index(i, has_nvml);
                if (devices.indexes[i] >= 0 &&
                    real_cuda.cuDeviceTotalMem_v2(&bytes, i) == CUDA_SUCCESS)
                        limits_device_size((unsigned)devices.indexes[i], bytes);
                log_debug("CUDA's device %d is device %d of the share, of %zu bytes", i,
                          devices.indexes[i], bytes);
        }
}

int devices_count(void)
{
        return devices.count < ORDINALS ? devices.count : ORDINALS;
}

int devices_index(int ordinal)
{
        return ordinal >= 0 && ordinal < devices.count && ordinal < ORDINALS
                       ? devices.indexes[ordinal]
                       : DEVICES_NONE;
}

struct target devices_current(void)
{
        /* A context stays on its device: the thread's last one is remembered until any one ends. */
        static _Thread_local struct {
                struct target target;
                uint64_t ended;
        } last __attribute__((tls_model("initial-exec")));
        struct target target = { .ordinal = -1, .device_index = DEVICES_NONE };
        CUcontext context = NULL;

        if (!limits_are_set())
                return target;
        if (real_cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
                return target;
        uint64_t ended = atomic_load_explicit(&devices.ended, memory_order_acquire);
        if (last.target.context == (uint64_t)(uintptr_t)context && last.ended == ended)
                return last.target;
        if (real_cuda.cuCtxGetDevice(&target.ordinal) != CUDA_SUCCESS)
                return target;
        target.context = (uint64_t)(uintptr_t)context;
        target.device_index = devices_index(target.ordinal);
        last.target = target;
        last.ended = ended;
        return target;
}

struct target devices_of_stream(CUstream stream)
{
        struct target target = devices_current();
        CUcontext context = NULL, popped;

        if (!limits_are_set() || !stream || stream == CU_STREAM_LEGACY ||
            stream == CU_STREAM_PER_THREAD || !real_cuda.cuStreamGetCtx ||
            real_cuda.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS || !context ||
            (uint64_t)(uintptr_t)context == target.context ||
            real_cuda.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
                return target;
        target = devices_current();
        real_cuda.cuCtxPopCurrent_v2(&popped);
        return target;
}

void devices_context_ended(void)
{
        atomic_fetch_add(&devices.ended, 1);
}

_Atomic uint64_t *devices_total(int ordinal)
{
        return ordinal >= 0 && ordinal < ORDINALS ? &devices.totals[ordinal] : NULL;
}

nvmlDevice_t devices_nvml(int ordinal)
{
        return ordinal >= 0 && ordinal < ORDINALS ? devices.handles[ordinal] : NULL;
}
