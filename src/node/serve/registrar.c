/* SPDX-License-Identifier: Apache-2.0 */
/* Raises by what is left. */
#include "registrar.h"

#include <errno.h>
#include <string.h>

#include "group_share.h"
#include "log.h"
#include "share_compute.h"
#include "share_memory.h"
#include "tenant_throttle.h"

static void device_raise(const struct registry_request *request, enum env_ceiling ceiling,
                         struct share_device *device)
{
        const struct share_memory memory = { .bytes = request->limit_bytes };

        if (request->limit_bytes > device->limit_bytes)
                share_memory_put(&memory, device);
        if (device->cores_percent && request->cores_percent > device->cores_percent)
                device->cores_percent = request->cores_percent;
        if (device->cores_max_percent && device->cores_max_percent < device->cores_percent)
                device->cores_max_percent = device->cores_percent;
        if (ceiling != ENV_CEILING_GPU)
                return;
        if (device->limit_max_bytes && device->limit_max_bytes < device->limit_bytes)
                device->limit_max_bytes = device->limit_bytes;
        if (device->cores_ceiling_percent && device->cores_ceiling_percent < device->cores_percent)
                device->cores_ceiling_percent = device->cores_percent;
}

/* With no ceiling of its own a share may grow to what it has, so there is nothing to raise. */
static bool is_within_ceiling(const struct share_device *now, const struct share_device *wanted)
{
        return (wanted->limit_bytes <= now->limit_bytes ||
                wanted->limit_bytes <= now->limit_max_bytes) &&
               (wanted->cores_percent <= now->cores_percent ||
                wanted->cores_percent <= now->cores_ceiling_percent);
}

static int share_raise(struct registrar *registrar, struct held_share *held,
                       const struct registry_request *request)
{
        const struct share_copy *now = share_current(&held->share);
        const int device = share_find_device(now, request->uuid);
        struct share_copy copy;
        struct err e = { 0 };

        if (device < 0 || request->cores_percent > 100)
                return -ERANGE;
        if (tenant_is_throttled(now))
                return -EPERM; /* it does not take back by itself what was taken from it */
        memcpy(&copy, now, sizeof copy);
        device_raise(request, registrar->ceiling, &copy.devices[device]);
        if (registrar->ceiling == ENV_CEILING_NONE &&
            !is_within_ceiling(&now->devices[device], &copy.devices[device]))
                return -EPERM;
        int r = share_fit_allows(registrar->fit, held, &copy, &e);
        if (r == 0)
                r = share_book_change(registrar->fit->book, held, &copy, &e);
        if (r < 0) {
                log_info("the environment of a process does not raise share '%s': %s", held->name,
                         e.text);
                return r == -ERANGE ? -ERANGE : -ENOSPC;
        }
        log_info("share '%s' was raised by the environment of '%s'", held->name, request->program);
        if (registrar->on_raise)
                registrar->on_raise(registrar->owner, held);
        return 0;
}

int registrar_register(void *owner, const struct registry_peer *peer,
                       const struct registry_request *request, int *ret_raised)
{
        struct registrar *registrar = owner;
        struct held_share *held = group_share_find(registrar->fit->book, &peer->group);

        if (!held && registrar->on_stranger) {
                registrar->on_stranger(registrar->stranger_owner);
                held = group_share_find(registrar->fit->book, &peer->group);
        }
        if (!held)
                return -EACCES;
        log_debug("process %d ('%.63s') is of share '%s'", peer->pid, request->program, held->name);
        *ret_raised = request->uuid[0] ? share_raise(registrar, held, request) : 0;
        return 0;
}
