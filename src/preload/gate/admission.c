/* SPDX-License-Identifier: Apache-2.0 */
/* admission: whoever set a limit does not run without it. */
#include "admission.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "devices.h"
#include "identity.h"
#include "limits.h"
#include "limits_environment.h"
#include "log.h"
#include "real.h"

enum { GPUS_MOST = SHARE_DEVICES * 8 }; /* GPUs, and the MIG devices of each */

struct gpus {
        struct limits_gpu list[GPUS_MOST];
        unsigned count;
};

/* Said once: CUDA and NVML ask both. */
static int refuse(int code, const struct err *e)
{
        static _Atomic bool is_told;

        if (!atomic_exchange(&is_told, true))
                log_fatal("%s; the program gets no GPU", e->text);
        return code;
}

static void gpu_add(struct gpus *gpus, nvmlDevice_t device, unsigned position)
{
        char uuid[96] = "";

        if (gpus->count == GPUS_MOST ||
            real_nvml.nvmlDeviceGetUUID(device, uuid, sizeof uuid) != NVML_SUCCESS)
                return;
        struct limits_gpu *gpu = &gpus->list[gpus->count++];
        admission_gpu_name(uuid, gpu->uuid);
        gpu->position = position;
}

static void mig_add(struct gpus *gpus, nvmlDevice_t device)
{
        unsigned count = 0;

        if (!real_nvml.nvmlDeviceGetMaxMigDeviceCount ||
            !real_nvml.nvmlDeviceGetMigDeviceHandleByIndex ||
            real_nvml.nvmlDeviceGetMaxMigDeviceCount(device, &count) != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < count; i++) {
                nvmlDevice_t mig;

                if (real_nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, i, &mig) == NVML_SUCCESS)
                        gpu_add(gpus, mig, i);
        }
}

static void gpus_by_nvml(struct gpus *gpus)
{
        unsigned count = 0;

        real_nvml.nvmlDeviceGetCount_v2(&count);
        for (unsigned i = 0; i < count; i++) {
                nvmlDevice_t device;

                if (real_nvml.nvmlDeviceGetHandleByIndex_v2(i, &device) != NVML_SUCCESS)
                        continue;
                gpu_add(gpus, device, i);
                mig_add(gpus, device);
        }
}

/* By both of its names: CUDA does not tell a MIG device's UUID from a GPU's. */
static void gpus_by_cuda(struct gpus *gpus)
{
        static const char *const prefixes[] = { "GPU", "MIG" };
        int count = 0;

        real_cuda.cuDeviceGetCount(&count);
        for (int i = 0; i < count; i++)
                for (unsigned j = 0; j < 2 && gpus->count < GPUS_MOST; j++) {
                        struct limits_gpu *gpu = &gpus->list[gpus->count];

                        gpu->position = (unsigned)i;
                        if (devices_uuid(i, prefixes[j], gpu->uuid))
                                gpus->count++;
                }
}

/* Once per process: CUDA's and NVML's doors may be opened by two threads. */
static int numbers_check(void (*collect)(struct gpus *gpus))
{
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static struct gpus gpus; /* too large for a guest's stack */
        static bool is_checked;
        struct err e = { 0 };
        int r = 0;

        pthread_mutex_lock(&lock);
        if (!is_checked) {
                gpus.count = 0;
                collect(&gpus);
                r = limits_check(gpus.list, gpus.count, &e);
                is_checked = r == 0;
        }
        if (r < 0)
                limits_refuse();
        pthread_mutex_unlock(&lock);
        return r < 0 ? refuse(r, &e) : 0;
}

int admission_check(bool has_nvml)
{
        struct err e = { 0 };

        if (limits_are_refused())
                return -EPERM;
        if (!limits_are_set())
                return 0;
        const int r = identity_open(&e);
        if (r < 0)
                return refuse(r, &e);
        return has_nvml && limits_are_numbered() ? numbers_check(gpus_by_nvml) : 0;
}

int admission_check_by_cuda(void)
{
        return limits_are_set() && limits_are_numbered() ? numbers_check(gpus_by_cuda) : 0;
}
