/* devices: by UUID. Limits by environment are numbered in NVML's order, which CUDA_VISIBLE_DEVICES
 * does not change. */
#include "devices.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gate_memory.h"
#include "graph_account.h"
#include "identity.h"
#include "lane.h"
#include "ledger.h"
#include "limits.h"
#include "log.h"
#include "pool_account.h"
#include "reconcile.h"
#include "start.h"
#include "virtual.h"

enum { ORDINALS = 64, DEVICES_UUID = 48 };

static struct {
        int accounts[ORDINALS];
        nvmlDevice_t handles[ORDINALS];
        int count;
        bool has_nvml;
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

/* The device's own UUID and, through it, NVML's handle and place; its CUDA number where NVML cannot
 * say. CUDA does not tell a MIG device's UUID from a GPU's, NVML does. */
static unsigned ordinal_position(int ordinal, const CUuuid *uuid, char text[DEVICES_UUID])
{
        static const char *const prefixes[] = { "MIG", "GPU" };
        unsigned position = (unsigned)ordinal;

        for (unsigned i = 0; i < 2; i++) {
                nvmlDevice_t device;
                uuid_print(uuid, prefixes[i], text);
                if (!devices.has_nvml ||
                    real_nvml.nvmlDeviceGetHandleByUUID(text, &device) != NVML_SUCCESS)
                        continue;
                devices.handles[ordinal] = device;
                real_nvml.nvmlDeviceGetIndex(device, &position);
                break;
        }
        return position;
}

/* A MIG device is charged under its own UUID if the share names it, else under its GPU's, which the
 * first version of the call tells. */
static int ordinal_account(int ordinal)
{
        CUuuid gpu = { 0 }, own = { 0 };
        char text[DEVICES_UUID];

        real_cuda.cuDeviceGetUuid(&gpu, ordinal);
        if (!real_cuda.cuDeviceGetUuid_v2 ||
            real_cuda.cuDeviceGetUuid_v2(&own, ordinal) != CUDA_SUCCESS)
                own = gpu;
        unsigned position = ordinal_position(ordinal, &own, text);
        int account = limits_account(text, position);
        if (account == DEVICES_NONE) {
                uuid_print(&gpu, "GPU", text);
                account = limits_account(text, position);
        }
        return account;
}

/* Before a refusal: what pools can do without, and streams have freed meanwhile. */
static bool relieve(void)
{
        bool has_shrunk = pool_account_trim();

        has_shrunk |= graph_account_refresh();
        return virtual_reap() || has_shrunk;
}

static void fork_watch(void)
{
        static bool is_watched;

        if (!is_watched)
                pthread_atfork(NULL, NULL, lane_forked);
        is_watched = true;
}

int devices_start(void)
{
        struct err e = { 0 };

        if (!limits_are_set())
                return 0;
        int r = identity_open(&e);
        if (r < 0) {
                log_fatal("%s; the program gets no GPU", e.text);
                return r;
        }
        gate_memory_on_refusal(relieve);
        gate_memory_compare_by(reconcile);
        fork_watch();
        start_nvml();
        devices.has_nvml = real_nvml.nvmlInit_v2 && real_nvml.nvmlInit_v2() == NVML_SUCCESS;
        real_cuda.cuDeviceGetCount(&devices.count);
        for (int i = 0; i < devices.count && i < ORDINALS; i++) {
                size_t bytes = 0;
                devices.accounts[i] = ordinal_account(i);
                if (devices.accounts[i] >= 0 &&
                    real_cuda.cuDeviceTotalMem_v2(&bytes, i) == CUDA_SUCCESS)
                        limits_card((unsigned)devices.accounts[i], bytes);
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
