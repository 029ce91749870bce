/* SPDX-License-Identifier: Apache-2.0 */
/* cuCoredump*: the settings of GPU core dumps. They are kept and answered; no dump is ever written,
 * so one set serves the process and its contexts alike. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "scope.h"
#include "sim_cuda.h"

enum { NAME_BYTES = 1024 };

static struct {
        pthread_mutex_t lock;
        bool flags[CU_COREDUMP_ENABLE_USER_TRIGGER + 1];
        char names[2][NAME_BYTES]; /* file, pipe; empty: the default */
        unsigned generation;
} coredump = {
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .flags = { [CU_COREDUMP_TRIGGER_HOST] = true },
};

static void name_default(CUcoredumpSettings attribute, char name[NAME_BYTES])
{
        char host[256] = "";

        gethostname(host, sizeof host - 1);
        snprintf(name, NAME_BYTES, "%s.cuda.%s.%d",
                 attribute == CU_COREDUMP_FILE ? "core" : "corepipe", host, (int)getpid());
}

/* The setting's bytes; `name` is a buffer for a default. NULL: no such attribute. */
static const void *setting_get(CUcoredumpSettings attribute, char name[NAME_BYTES],
                               size_t *ret_bytes)
{
        switch (attribute) {
        case CU_COREDUMP_ENABLE_ON_EXCEPTION:
        case CU_COREDUMP_TRIGGER_HOST:
        case CU_COREDUMP_LIGHTWEIGHT:
        case CU_COREDUMP_ENABLE_USER_TRIGGER:
                *ret_bytes = sizeof(bool);
                return &coredump.flags[attribute];
        case CU_COREDUMP_FILE:
        case CU_COREDUMP_PIPE:
                name_default(attribute, name);
                if (coredump.names[attribute - CU_COREDUMP_FILE][0])
                        strcpy(name, coredump.names[attribute - CU_COREDUMP_FILE]);
                *ret_bytes = strlen(name) + 1;
                return name;
        case CU_COREDUMP_GENERATION_FLAGS:
                *ret_bytes = sizeof coredump.generation;
                return &coredump.generation;
        default:
                return NULL;
        }
}

CUresult sim_cuCoredumpGetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
        autounlock pthread_mutex_t *held = scope_lock(&coredump.lock);
        char name[NAME_BYTES];
        size_t bytes;
        const void *setting = setting_get(attrib, name, &bytes);

        if (!setting || !value || !size || *size < bytes)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(value, setting, bytes);
        *size = bytes;
        return CUDA_SUCCESS;
}

CUresult sim_cuCoredumpSetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
        autounlock pthread_mutex_t *held = scope_lock(&coredump.lock);

        if (!value || !size || *size == 0)
                return CUDA_ERROR_INVALID_VALUE;
        switch (attrib) {
        case CU_COREDUMP_ENABLE_ON_EXCEPTION:
        case CU_COREDUMP_TRIGGER_HOST:
        case CU_COREDUMP_LIGHTWEIGHT:
        case CU_COREDUMP_ENABLE_USER_TRIGGER:
                coredump.flags[attrib] = *(const unsigned char *)value != 0;
                return CUDA_SUCCESS;
        case CU_COREDUMP_FILE:
        case CU_COREDUMP_PIPE:
                if (*size >= NAME_BYTES)
                        return CUDA_ERROR_INVALID_VALUE;
                snprintf(coredump.names[attrib - CU_COREDUMP_FILE], NAME_BYTES, "%.*s", (int)*size,
                         (const char *)value);
                return CUDA_SUCCESS;
        case CU_COREDUMP_GENERATION_FLAGS:
                if (*size < sizeof coredump.generation)
                        return CUDA_ERROR_INVALID_VALUE;
                memcpy(&coredump.generation, value, sizeof coredump.generation);
                return CUDA_SUCCESS;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

CUresult sim_cuCoredumpGetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
        return context_current() ? sim_cuCoredumpGetAttributeGlobal(attrib, value, size)
                                 : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuCoredumpSetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
        return context_current() ? sim_cuCoredumpSetAttributeGlobal(attrib, value, size)
                                 : CUDA_ERROR_INVALID_CONTEXT;
}
