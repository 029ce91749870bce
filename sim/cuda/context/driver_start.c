/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit: once per process; a forked child starts without. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "driver.h"
#include "entry.h"
#include "event.h"
#include "sim_cuda.h"
#include "visible.h"
#include "work.h"

/* What the host answers alone goes on without the GPU: a program must be able to say what happened
 * and turn to another one. */
static bool needs_gpu(const char *function)
{
        static const char *const host_only[] = {
                "cuCtxGet", "cuCtxPop", "cuCtxPush", "cuCtxSetCurrent",
                "cuDevice", "cuDriver", "cuGet",     "cuInit",
        };

        for (size_t i = 0; i < sizeof host_only / sizeof host_only[0]; i++)
                if (strncmp(function, host_only[i], strlen(host_only[i])) == 0)
                        return false;
        return true;
}

static bool driver_fault(const char *function, int *ret_result)
{
        int32_t result;

        if (fault_strikes(&driver.machine, function, &result)) {
                *ret_result = result;
                return true;
        }
        struct context *context = context_current();
        if (context && atomic_load(&device_gpu(context->device)->is_lost) && needs_gpu(function)) {
                *ret_result = CUDA_ERROR_DEVICE_UNAVAILABLE;
                return true;
        }
        return false;
}

static void driver_unsupported(const char *function)
{
        machine_count(&driver.machine, COUNTER_UNSUPPORTED_CALLS, 1);
        driver_say("%s is not simulated; it answers CUDA_ERROR_NOT_SUPPORTED", function);
}

static CUresult driver_start_locked(void)
{
        static struct entry_machine watch = {
                .fault = driver_fault,
                .unsupported = driver_unsupported,
        };
        struct err e;

        if (driver_is_started())
                return driver.device_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
        if (!driver.machine.file) {
                const char *named = getenv("VGPU_SIM");
                int r = machine_open_default(&driver.machine, &e);
                if (r < 0 && named && *named)
                        driver_say("%s", e.text);
                if (r < 0)
                        return r == -ENOENT ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_SYSTEM_NOT_READY;
        }
        visible_devices();
        if (!driver.device_count)
                return CUDA_ERROR_NO_DEVICE;
        CUresult r = work_start();
        if (r != CUDA_SUCCESS)
                return r;
        watch.attention = &driver.machine.file->header.attention;
        entry_attach(&watch);
        entry_set_initialised(true);
        return CUDA_SUCCESS;
}

CUresult sim_cuInit(unsigned flags)
{
        if (flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (entry_is_forked())
                return CUDA_ERROR_NOT_INITIALIZED;
        pthread_mutex_lock(&driver.lock);
        CUresult r = driver_start_locked();
        pthread_mutex_unlock(&driver.lock);
        return r;
}
