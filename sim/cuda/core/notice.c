/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver would tell a program on its own: logs, asynchronous notices, the profiler. The
 * simulated driver has nothing to tell, so registrations are kept and the logs are empty. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "context.h"
#include "driver.h"
#include "scope.h"
#include "sim_cuda.h"

enum registration_kind { REGISTRATION_LOG, REGISTRATION_DEVICE };

struct registration {
        enum registration_kind kind;
        CUdevice device;
        struct registration *next;
};

static struct {
        pthread_mutex_t lock;
        struct registration *first;
} notice = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct registration *registration_new(enum registration_kind kind, CUdevice device)
{
        struct registration *registration = calloc(1, sizeof *registration);

        if (!registration)
                return NULL;

        autounlock pthread_mutex_t *held = scope_lock(&notice.lock);

        *registration = (struct registration){ kind, device, notice.first };
        notice.first = registration;
        return registration;
}

static CUresult registration_free(const void *handle, enum registration_kind kind, CUdevice device)
{
        autounlock pthread_mutex_t *held = scope_lock(&notice.lock);

        for (struct registration **link = &notice.first; *link; link = &(*link)->next) {
                struct registration *found = *link;

                if (found != handle || found->kind != kind || found->device != device)
                        continue;
                *link = found->next;
                free(found);
                return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback callbackFunc,
                                               void *userData, CUasyncCallbackHandle *callback)
{
        (void)userData;
        if (!driver_device(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if (!callbackFunc || !callback)
                return CUDA_ERROR_INVALID_VALUE;
        *callback = (CUasyncCallbackHandle)registration_new(REGISTRATION_DEVICE, device);
        return *callback ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuDeviceUnregisterAsyncNotification(CUdevice device, CUasyncCallbackHandle callback)
{
        if (!driver_device(device))
                return CUDA_ERROR_INVALID_DEVICE;
        return registration_free(callback, REGISTRATION_DEVICE, device);
}

CUresult sim_cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                    CUlogsCallbackHandle *callback_out)
{
        struct registration *registration;

        (void)userData;
        if (!callbackFunc)
                return CUDA_ERROR_INVALID_VALUE;
        registration = registration_new(REGISTRATION_LOG, 0);
        if (!registration)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (callback_out)
                *callback_out = (CUlogsCallbackHandle)registration;
        return CUDA_SUCCESS;
}

CUresult sim_cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
        return registration_free(callback, REGISTRATION_LOG, 0);
}

CUresult sim_cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
        if (!iterator_out || flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        *iterator_out = 0;
        return CUDA_SUCCESS;
}

CUresult sim_cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
        FILE *file;

        (void)iterator;
        if (!pathToFile || flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        file = fopen(pathToFile, "we");
        if (!file)
                return CUDA_ERROR_OPERATING_SYSTEM;
        fclose(file);
        return CUDA_SUCCESS;
}

CUresult sim_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                                unsigned int flags)
{
        (void)iterator;
        if (!buffer || !size || *size == 0 || flags != 0)
                return CUDA_ERROR_INVALID_VALUE;
        buffer[0] = '\0';
        *size = 0;
        return CUDA_SUCCESS;
}

/* Removed from the API; the real driver refuses it as well. */
CUresult sim_cuProfilerInitialize(const char *configFile, const char *outputFile,
                                  CUoutput_mode outputMode)
{
        (void)configFile, (void)outputFile, (void)outputMode;
        return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult profiler_switch(void)
{
        struct context *context;

        return context_need(&context);
}

CUresult sim_cuProfilerStart(void)
{
        return profiler_switch();
}

CUresult sim_cuProfilerStop(void)
{
        return profiler_switch();
}

/* Other devices' writes are visible at once. */
CUresult sim_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                        CUflushGPUDirectRDMAWritesScope scope)
{
        struct context *context;

        if ((int)target != 0 || ((int)scope != 100 && (int)scope != 200))
                return CUDA_ERROR_INVALID_VALUE;
        return context_need(&context);
}
