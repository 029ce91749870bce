/* SPDX-License-Identifier: Apache-2.0 */
/* Growth is cut until what is wanted fits, or until there is none. */
#include "share_growth.h"

#include <string.h>

#include "log.h"
#include "share_memory.h"
#include "tenant_throttle.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t beyond(uint64_t has, uint64_t decided)
{
        return has > decided ? has - decided : 0;
}

struct search {
        const struct gpu *gpu;
        bool is_for_memory; /* else for compute */
        uint64_t largest;
        struct held_share *found;
};

/* What the share has, or gets back when it is no longer throttled. */
static void content_of(const struct held_share *held, struct share_copy *ret_copy)
{
        memcpy((void *)ret_copy, share_current(&held->share), sizeof *ret_copy);
        if (tenant_is_throttled(ret_copy))
                tenant_kept(held, ret_copy->devices);
}

static void on_held(void *owner, struct held_share *held)
{
        struct search *search = owner;
        struct share_copy copy;
        const int i = share_find_device(share_current(&held->share), search->gpu->uuid);

        if (i < 0 || !held->decided || held->is_going)
                return;
        content_of(held, &copy);
        const uint64_t limit = copy.devices[i].limit_bytes;
        const uint64_t growth =
                !search->is_for_memory
                        ? beyond(copy.devices[i].cores_percent, held->decided[i].cores_percent)
                : limit != SHARE_UNLIMITED ? beyond(limit, held->decided[i].limit_bytes)
                                           : 0;
        if (growth <= search->largest)
                return;
        search->largest = growth;
        search->found = held;
}

static int cut(const struct share_fit *fit, const struct share_growth_cut *cut)
{
        const int i = share_find_device(share_current(&cut->held->share), cut->gpu->uuid);
        const bool is_throttled = tenant_is_throttled(share_current(&cut->held->share));
        struct share_copy copy;
        struct err e = { 0 };

        content_of(cut->held, &copy);
        const struct share_memory memory = { .bytes = copy.devices[i].limit_bytes -
                                                      cut->memory_bytes };
        share_memory_put(&memory, &copy.devices[i]);
        copy.devices[i].cores_percent -= cut->cores_percent;
        const int r = is_throttled ? tenant_keep(cut->held, copy.devices, &e)
                                   : share_book_change(fit->book, cut->held, &copy, &e);
        if (r < 0)
                log_warn("cannot revoke the growth of share '%s': %s", cut->held->name, e.text);
        return r;
}

/* false: nothing is lacking, or nothing can be had. */
static bool yield_once(const struct share_fit *fit, const struct gpu *gpu,
                       const struct share_copy *wanted, struct share_growth_cut *ret_cut)
{
        const struct share_sum_use whole = share_fit_total(fit, gpu);
        struct search search = { .gpu = gpu };
        struct share_growth_cut taken = { .gpu = gpu };
        struct share_sum_use use;

        if (share_fit_taken(fit, gpu, wanted, &use) < 0)
                return false;
        const uint64_t memory = beyond(use.memory_bytes, whole.memory_bytes);
        const uint64_t cores = beyond(use.cores_percent, whole.cores_percent);
        if (memory) {
                search.is_for_memory = true;
                share_book_each(fit->book, on_held, &search);
                const uint64_t lack = (memory + MIB - 1) / MIB * MIB;
                taken.memory_bytes = search.largest < lack ? search.largest : lack;
        }
        if (!search.found && cores) {
                search.is_for_memory = false;
                share_book_each(fit->book, on_held, &search);
                taken.cores_percent = (unsigned)(search.largest < cores ? search.largest : cores);
        }
        taken.held = search.found;
        if (!search.found || cut(fit, &taken) < 0)
                return false;
        *ret_cut = taken;
        return true;
}

void share_growth_yield(const struct share_fit *fit, const struct share_copy *wanted,
                        void (*on_cut)(void *owner, const struct share_growth_cut *cut),
                        void *owner)
{
        for (unsigned i = 0; i < fit->set.count; i++) {
                const struct gpu *gpu = &fit->set.gpus[i];
                struct share_growth_cut cut;

                if (wanted && share_find_device(wanted, gpu->uuid) < 0)
                        continue;
                while (yield_once(fit, gpu, wanted, &cut))
                        on_cut(owner, &cut);
        }
}
