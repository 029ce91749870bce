/* SPDX-License-Identifier: Apache-2.0 */
/* Of cuGetExportTable: values that a runtime keeps with a context. */
#include <pthread.h>
#include <stdlib.h>

#include "context.h"
#include "export_slot.h"
#include "scope.h"

typedef void (*storage_destructor)(CUcontext context, void *key, void *value);

struct storage {
        struct context *context;
        void *key, *value;
        storage_destructor destructor;
        struct storage *next;
};

static struct {
        pthread_mutex_t lock;
        struct storage *first;
} storages = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct storage **storage_find(const struct context *context, const void *key)
{
        struct storage **link = &storages.first;

        while (*link && ((*link)->context != context || (*link)->key != key))
                link = &(*link)->next;
        return link;
}

static struct context *storage_context(CUcontext handle)
{
        return handle ? context_get(handle) : context_current();
}

static CUresult slot_storage_put(CUcontext handle, void *key, void *value,
                                 storage_destructor destructor)
{
        struct context *context = storage_context(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;

        autounlock pthread_mutex_t *held = scope_lock(&storages.lock);
        struct storage **link = storage_find(context, key);

        if (!*link) {
                *link = calloc(1, sizeof **link);
                if (!*link)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                (*link)->context = context;
                (*link)->key = key;
        }
        (*link)->value = value;
        (*link)->destructor = destructor;
        return CUDA_SUCCESS;
}

static CUresult slot_storage_delete(CUcontext handle, void *key)
{
        struct context *context = storage_context(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;

        autounlock pthread_mutex_t *held = scope_lock(&storages.lock);
        struct storage **link = storage_find(context, key), *gone = *link;

        if (!gone)
                return CUDA_ERROR_INVALID_HANDLE;
        *link = gone->next;
        free(gone);
        return CUDA_SUCCESS;
}

static CUresult slot_storage_get(void **ret_value, CUcontext handle, void *key)
{
        struct context *context = storage_context(handle);

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;

        autounlock pthread_mutex_t *held = scope_lock(&storages.lock);
        struct storage *storage = *storage_find(context, key);

        if (!storage)
                return CUDA_ERROR_INVALID_HANDLE;
        *ret_value = storage->value;
        return CUDA_SUCCESS;
}

/* This table has no size word. */
const table_slot export_storage_table[4] = {
        (table_slot)slot_storage_put,
        (table_slot)slot_storage_delete,
        (table_slot)slot_storage_get,
};

static struct storage *storage_take(const struct context *context)
{
        autounlock pthread_mutex_t *held = scope_lock(&storages.lock);
        struct storage **link = &storages.first, *taken;

        while (*link && (*link)->context != context)
                link = &(*link)->next;
        taken = *link;
        if (taken)
                *link = taken->next;
        return taken;
}

/* The destructors call back into the driver: no lock is held. */
void export_storage_context_done(struct context *context)
{
        struct storage *storage;

        while ((storage = storage_take(context))) {
                if (storage->destructor)
                        storage->destructor((CUcontext)context, storage->key, storage->value);
                free(storage);
        }
}
