/* devices: by UUID. Limits by environment are numbered in NVML's order, which CUDA_VISIBLE_DEVICES
 * does not change. */
#include "devices.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gate_memory.h"
#include "graph_account.h"
#include "ledger.h"
#include "limits.h"
#include "log.h"
#include "pool_account.h"
#include "start.h"

enum { ORDINALS = 64 };

static struct {
        int accounts[ORDINALS];
        nvmlDevice_t handles[ORDINALS];
        int count;
        bool has_nvml;
        _Atomic uint64_t totals[ORDINALS];
        _Atomic uint64_t ended; /* contexts so far */
} devices;

/* Lower-case hexadecimal digits of a UUID, without prefix and dashes. */
static void uuid_digits(const char *text, char digits[33])
{
        unsigned count = 0;
        const char *p = strchr(text, '-');

        for (p = p ? p + 1 : text; *p && count < 32; p++)
                if (*p != '-')
                        digits[count++] = (char)(*p | 0x20);
        digits[count] = '\0';
}

static void ordinal_uuid(int ordinal, char text[48])
{
        CUuuid uuid = { 0 };
        unsigned char bytes[16];

        if (!real_cuda.cuDeviceGetUuid_v2 ||
            real_cuda.cuDeviceGetUuid_v2(&uuid, ordinal) != CUDA_SUCCESS)
                real_cuda.cuDeviceGetUuid(&uuid, ordinal);
        memcpy(bytes, &uuid, sizeof bytes);
        char *end = text + sprintf(text, "GPU-");
        for (unsigned i = 0; i < 16; i++)
                end += sprintf(end, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               bytes[i]);
}

/* The device's handle and place in NVML's order; its CUDA number where NVML cannot say. */
static unsigned ordinal_position(int ordinal, const char *uuid)
{
        char wanted[33], seen[33], text[96];
        unsigned count = 0, position = (unsigned)ordinal;

        if (!devices.has_nvml)
                return position;
        uuid_digits(uuid, wanted);
        real_nvml.nvmlDeviceGetCount_v2(&count);
        for (unsigned i = 0; i < count; i++) {
                nvmlDevice_t device;
                if (real_nvml.nvmlDeviceGetHandleByIndex_v2(i, &device) != NVML_SUCCESS ||
                    real_nvml.nvmlDeviceGetUUID(device, text, sizeof text) != NVML_SUCCESS)
                        continue;
                uuid_digits(text, seen);
                if (strcmp(wanted, seen) == 0) {
                        position = i;
                        devices.handles[ordinal] = device;
                }
        }
        return position;
}

/* Before a refusal: what pools have given back to the card meanwhile. */
static bool relieve(void)
{
        bool has_shrunk = pool_account_refresh_all();

        return graph_account_refresh() || has_shrunk;
}

int devices_start(void)
{
        struct err e = { 0 };

        if (!limits_are_set())
                return 0;
        int r = ledger_open(limits_region_path(), limits_device_count(), &e);
        if (r < 0) {
                log_error("%s; the program gets no GPU", e.text);
                return r;
        }
        gate_memory_on_refusal(relieve);
        start_nvml();
        devices.has_nvml = real_nvml.nvmlInit_v2 && real_nvml.nvmlInit_v2() == NVML_SUCCESS;
        real_cuda.cuDeviceGetCount(&devices.count);
        for (int i = 0; i < devices.count && i < ORDINALS; i++) {
                char uuid[48];
                ordinal_uuid(i, uuid);
                devices.accounts[i] = limits_account(uuid, ordinal_position(i, uuid));
        }
        return 0;
}

int devices_count(void)
{
        return devices.count < ORDINALS ? devices.count : ORDINALS;
}

int devices_account(int ordinal)
{
        return ordinal >= 0 && ordinal < devices.count && ordinal < ORDINALS
                       ? devices.accounts[ordinal]
                       : DEVICES_NONE;
}

struct place devices_current(void)
{
        /* A context stays on its device: the thread's last one is remembered until any one ends. */
        static _Thread_local struct {
                struct place place;
                uint64_t ended;
        } last __attribute__((tls_model("initial-exec")));
        struct place place = { .ordinal = -1, .account = DEVICES_NONE };
        CUcontext context = NULL;

        if (!limits_are_set())
                return place;
        if (real_cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
                return place;
        uint64_t ended = atomic_load_explicit(&devices.ended, memory_order_acquire);
        if (last.place.context == (uint64_t)(uintptr_t)context && last.ended == ended)
                return last.place;
        if (real_cuda.cuCtxGetDevice(&place.ordinal) != CUDA_SUCCESS)
                return place;
        place.context = (uint64_t)(uintptr_t)context;
        place.account = devices_account(place.ordinal);
        last.place = place;
        last.ended = ended;
        return place;
}

struct place devices_of_stream(CUstream stream)
{
        struct place place = devices_current();
        CUcontext context = NULL, popped;

        if (!limits_are_set() || !stream || stream == CU_STREAM_LEGACY ||
            stream == CU_STREAM_PER_THREAD || !real_cuda.cuStreamGetCtx ||
            real_cuda.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS || !context ||
            (uint64_t)(uintptr_t)context == place.context ||
            real_cuda.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
                return place;
        place = devices_current();
        real_cuda.cuCtxPopCurrent_v2(&popped);
        return place;
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
