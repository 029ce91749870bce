/* SPDX-License-Identifier: Apache-2.0 */
/* event_set: waiting for errors and other news of GPUs. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "event.h"
#include "scope.h"
#include "target.h"

struct nvmlEventSet_st {
        struct nvmlEventSet_st *next;
        uint64_t types[MACHINE_GPUS];
        uint64_t cursor;
        unsigned waiters; /* freed by the last of them once it is closed */
        bool is_closed;
};

/* All sets there are, so that a wrong handle is recognised. */
static struct {
        pthread_mutex_t lock;
        struct nvmlEventSet_st *first;
} event_set = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct nvmlEventSet_st **link_of(nvmlEventSet_t set)
{
        struct nvmlEventSet_st **link = &event_set.first;

        while (*link && *link != set)
                link = &(*link)->next;
        return link;
}

nvmlReturn_t sim_nvmlEventSetCreate(nvmlEventSet_t *set)
{
        struct nvmlEventSet_st *made;

        if (!set)
                return NVML_ERROR_INVALID_ARGUMENT;
        made = calloc(1, sizeof *made);
        if (!made)
                return NVML_ERROR_MEMORY;
        made->cursor = atomic_load(&session_machine()->file->header.events_next);
        autounlock pthread_mutex_t *held = scope_lock(&event_set.lock);
        made->next = event_set.first;
        event_set.first = made;
        *set = made;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlEventSetFree(nvmlEventSet_t set)
{
        autounlock pthread_mutex_t *held = scope_lock(&event_set.lock);
        struct nvmlEventSet_st **link = link_of(set);

        if (!set || !*link)
                return NVML_ERROR_INVALID_ARGUMENT;
        *link = set->next;
        set->is_closed = true;
        if (set->waiters == 0)
                free(set);
        return NVML_SUCCESS;
}

static uint64_t types_of(const struct machine_gpu *gpu)
{
        uint64_t types = NVML_EVENT_XID | NVML_EVENT_CLOCK | NVML_EVENT_PSTATE;

        if (gpu->has_ecc)
                types |= NVML_EVENT_SINGLE_BIT_ECC | NVML_EVENT_DOUBLE_BIT_ECC;
        if (gpu->has_mig)
                types |= NVML_EVENT_MIG_CONFIG;
        return types;
}

nvmlReturn_t sim_nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, types, &t);

        if (r == NVML_SUCCESS)
                *types = types_of(t.gpu);
        return r;
}

nvmlReturn_t sim_nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                          nvmlEventSet_t set)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, set, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (types & ~types_of(t.gpu))
                return NVML_ERROR_NOT_SUPPORTED;
        autounlock pthread_mutex_t *held = scope_lock(&event_set.lock);
        if (!*link_of(set))
                return NVML_ERROR_INVALID_ARGUMENT;
        set->types[t.index] |= types;
        return NVML_SUCCESS;
}

/* Waits without the lock; the set stays until the wait ends. */
static int set_wait(nvmlEventSet_t set, unsigned timeout_ms, struct machine_event *ret_event)
{
        uint64_t types[MACHINE_GPUS], cursor;
        int r;

        pthread_mutex_lock(&event_set.lock);
        if (!*link_of(set)) {
                pthread_mutex_unlock(&event_set.lock);
                return -EINVAL;
        }
        for (unsigned i = 0; i < MACHINE_GPUS; i++)
                types[i] = set->types[i];
        cursor = set->cursor;
        set->waiters++;
        pthread_mutex_unlock(&event_set.lock);

        r = event_wait(session_machine(), types, &cursor,
                       timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms, ret_event);

        pthread_mutex_lock(&event_set.lock);
        if (cursor > set->cursor)
                set->cursor = cursor;
        if (--set->waiters == 0 && set->is_closed)
                free(set);
        pthread_mutex_unlock(&event_set.lock);
        return r;
}

/* Where all news are read and a GPU of the set is gone, waiting on is in vain. */
static bool lost_one(nvmlEventSet_t set)
{
        autounlock pthread_mutex_t *held = scope_lock(&event_set.lock);
        const struct machine *machine = session_machine();

        for (unsigned i = 0; *link_of(set) && i < machine->file->header.gpu_count; i++)
                if (set->types[i] && atomic_load(&machine_gpu(machine, i)->is_lost))
                        return true;
        return false;
}

static nvmlReturn_t wait_for(nvmlEventSet_t set, unsigned timeout_ms, nvmlEventData_t *ret_data)
{
        struct machine_event event;
        int r = set_wait(set, 0, &event);

        if (r == -ETIMEDOUT && lost_one(set))
                return NVML_ERROR_GPU_IS_LOST;
        if (r == -ETIMEDOUT && timeout_ms)
                r = set_wait(set, timeout_ms, &event);
        if (r < 0)
                return session_result(r);
        *ret_data = (nvmlEventData_t){
                .device = target_handle(event.gpu),
                .eventType = event.type,
                .eventData = event.type == NVML_EVENT_XID ? event.detail : 0,
                .gpuInstanceId = event.gpu_instance,
                .computeInstanceId = event.compute_instance,
        };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data,
                                     unsigned int timeout_ms)
{
        return set && data ? wait_for(set, timeout_ms, data) : NVML_ERROR_INVALID_ARGUMENT;
}

/* The first version's structure ends before the instances. */
nvmlReturn_t sim_nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data,
                                  unsigned int timeout_ms)
{
        nvmlEventData_t full;
        nvmlReturn_t r;

        if (!set || !data)
                return NVML_ERROR_INVALID_ARGUMENT;
        r = wait_for(set, timeout_ms, &full);
        if (r == NVML_SUCCESS)
                *(nvmlEventData_v1_t *)data = (nvmlEventData_v1_t){
                        .device = full.device,
                        .eventType = full.eventType,
                        .eventData = full.eventData,
                };
        return r;
}
