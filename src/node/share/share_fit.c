/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU has left is what it has, scaled, less the sum of the others' limits. */
#include "share_fit.h"

#include <errno.h>
#include <string.h>

#include "quantity.h"

static const struct gpu *gpu_find(const struct share_fit *fit, const char *uuid)
{
        for (unsigned i = 0; i < fit->set.count; i++)
                if (strcmp(fit->set.gpus[i].uuid, uuid) == 0)
                        return &fit->set.gpus[i];
        return NULL;
}

struct share_sum_use share_fit_total(const struct share_fit *fit, const struct gpu *gpu)
{
        return (struct share_sum_use){
                .memory_bytes = (uint64_t)((double)gpu->memory_bytes * fit->memory_scaling),
                .cores_percent = (unsigned)(100 * fit->cores_scaling),
        };
}

int share_fit_taken(const struct share_fit *fit, const struct gpu *gpu,
                    const struct share_copy *wanted, struct share_sum_use *ret_use)
{
        const struct share_sum_question question = {
                .book = fit->book,
                .uuid = gpu->uuid,
                .wanted = wanted,
                /* Until the watch is in sync, it is not known which pods are still there. */
                .among = fit->pods && !fit->is_synced ? fit->pods : NULL,
        };

        return share_sum(&question, ret_use);
}

static int ceiling_check(const struct share_device *now, const struct share_device *wanted,
                         struct err *e)
{
        char text[QUANTITY_TEXT_BYTES];

        if (now->limit_max_bytes && wanted->limit_bytes > now->limit_max_bytes &&
            wanted->limit_bytes > now->limit_bytes) {
                quantity_format_bytes(now->limit_max_bytes, text);
                return err_set(e, -ERANGE, "its memory may grow to at most %s", text);
        }
        if (now->cores_ceiling_percent && wanted->cores_percent > now->cores_ceiling_percent &&
            wanted->cores_percent > now->cores_percent)
                return err_set(e, -ERANGE, "its compute may grow to at most %u %%",
                               now->cores_ceiling_percent);
        return 0;
}

/* `taken` has the wanted share in it. */
static int memory_check(const struct gpu *gpu, uint64_t all, uint64_t taken, uint64_t wanted,
                        struct err *e)
{
        const uint64_t others = wanted == SHARE_UNLIMITED ? taken : taken - wanted;
        const uint64_t left = all > others ? all - others : 0;
        char wanted_text[QUANTITY_TEXT_BYTES], left_text[QUANTITY_TEXT_BYTES];

        if (wanted <= left)
                return 0;
        quantity_format_bytes(wanted, wanted_text);
        quantity_format_bytes(left, left_text);
        return err_set(e, -ENOSPC, "GPU %u cannot fit %s: other shares leave %s of it", gpu->index,
                       wanted_text, left_text);
}

static int cores_check(const struct gpu *gpu, unsigned all, unsigned taken, unsigned wanted,
                       struct err *e)
{
        if (taken <= all)
                return 0;
        return err_set(e, -ENOSPC, "GPU %u cannot fit %u %% of its time: other shares have %u %%",
                       gpu->index, wanted, taken - wanted);
}

int share_fit_admits(const struct share_fit *fit, const struct share_copy *wanted, struct err *e)
{
        int r = 0;

        for (unsigned i = 0; i < wanted->device_count && r == 0; i++) {
                const struct share_device *device = &wanted->devices[i];
                const struct gpu *gpu = gpu_find(fit, device->uuid);
                struct share_sum_use taken;

                if (!gpu)
                        continue; /* a MIG device, which is nobody else's */
                const struct share_sum_use whole = share_fit_total(fit, gpu);
                r = share_fit_taken(fit, gpu, wanted, &taken);
                if (r < 0)
                        return err_set(e, r, "out of memory");
                r = memory_check(gpu, whole.memory_bytes, taken.memory_bytes, device->limit_bytes,
                                 e);
                if (r == 0 && device->cores_percent)
                        r = cores_check(gpu, whole.cores_percent, taken.cores_percent,
                                        device->cores_percent, e);
        }
        return r;
}

static int device_fits(const struct share_fit *fit, const struct held_share *held, unsigned device,
                       const struct share_copy *wanted, struct err *e)
{
        const struct share_device *now = &share_current(&held->share)->devices[device];
        const struct share_device *then = &wanted->devices[device];
        const struct share_decided *decided = held->decided ? &held->decided[device] : NULL;
        const bool is_larger = then->limit_bytes > now->limit_bytes &&
                               (!decided || then->limit_bytes > decided->limit_bytes);
        /* No limit of compute at all is not more than one that others' limits leave. */
        const bool is_faster = now->cores_percent && then->cores_percent > now->cores_percent &&
                               (!decided || then->cores_percent > decided->cores_percent);
        const struct gpu *gpu = gpu_find(fit, now->uuid);
        struct share_sum_use taken;
        int r;

        if (!is_larger && !is_faster)
                return 0;
        if (!gpu)
                return err_set(e, -ENOSPC, "the driver does not list GPU '%.47s'", now->uuid);
        const struct share_sum_use whole = share_fit_total(fit, gpu);
        const struct share_sum_question question = { .book = fit->book,
                                                     .uuid = now->uuid,
                                                     .wanted = wanted,
                                                     .waiting = fit->pods,
                                                     .has_going = true };

        r = share_sum(&question, &taken);
        if (r < 0)
                return err_set(e, r, "out of memory");
        if (is_larger)
                r = memory_check(gpu, whole.memory_bytes, taken.memory_bytes, then->limit_bytes, e);
        if (r == 0 && is_faster)
                r = cores_check(gpu, whole.cores_percent, taken.cores_percent, then->cores_percent,
                                e);
        return r;
}

int share_fit_allows(const struct share_fit *fit, const struct held_share *held,
                     const struct share_copy *wanted, struct err *e)
{
        const struct share_copy *now = share_current(&held->share);
        int r = 0;

        for (unsigned i = 0; i < now->device_count && i < wanted->device_count && r == 0; i++)
                r = device_fits(fit, held, i, wanted, e);
        return r;
}

int share_fit_check(const struct share_fit *fit, const struct held_share *held,
                    const struct share_copy *wanted, struct err *e)
{
        const struct share_copy *now = share_current(&held->share);
        int r = 0;

        for (unsigned i = 0; i < now->device_count && i < wanted->device_count && r == 0; i++)
                r = ceiling_check(&now->devices[i], &wanted->devices[i], e);
        return r < 0 ? r : share_fit_allows(fit, held, wanted, e);
}
