/* SPDX-License-Identifier: Apache-2.0 */
/* The arbiter: tenants, their GPUs, and a step of each; see arbiter.h. */
#include "arbiter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "futex_set.h"
#include "scope.h"
#include "tenant.h"

enum {
        TENANTS = FUTEX_SET_MOST - 1, /* one word is the members' */
        GPUS = 256,                   /* MIG devices are some, too */
        REPEATS = 4,                  /* close, see it drained, grant: a step each */
};

struct gpu { /* one GPU of one machine, and who shares it */
        char machine[GPU_PAGE_MACHINE];
        char uuid[SHARE_UUID];
        bool is_described; /* by one who is no user */
        struct timeslices timeslices;
};

struct arbiter {
        const _Atomic uint32_t *members;
        bool is_off;
        bool are_weights_new; /* limits or tenants of users have changed */
        int high;             /* slots of tenants ever used */
        struct tenant *tenants[TENANTS];
        struct gpu *gpus[GPUS];
};

struct arbiter *arbiter_new(const _Atomic uint32_t *members)
{
        struct arbiter *arbiter = calloc(1, sizeof *arbiter);

        if (arbiter)
                arbiter->members = members;
        return arbiter;
}

static int gpu_find(struct arbiter *arbiter, const char *machine, const char *uuid)
{
        for (int i = 0; i < GPUS; i++) {
                const struct gpu *gpu = arbiter->gpus[i];

                if (gpu && strncmp(gpu->machine, machine, sizeof gpu->machine) == 0 &&
                    strncmp(gpu->uuid, uuid, sizeof gpu->uuid) == 0)
                        return i;
        }
        return -1;
}

/* Mapped for the most tenants there can be: pages that nobody touches cost nothing. */
static struct gpu *gpu_new(void)
{
        void *pages = mmap(NULL, sizeof(struct gpu), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return pages == MAP_FAILED ? NULL : pages;
}

static int gpu_make(struct arbiter *arbiter, const struct tenant *tenant, unsigned device)
{
        int free = 0;

        while (free < GPUS && arbiter->gpus[free])
                free++;
        struct gpu *gpu = free < GPUS ? gpu_new() : NULL;
        if (!gpu)
                return -1;
        memcpy(gpu->machine, tenant->machine, sizeof gpu->machine);
        memcpy(gpu->uuid, tenant->devices[device].uuid, sizeof gpu->uuid);
        timeslices_init_zeroed(&gpu->timeslices, clock_now_ns());
        gpu->timeslices.is_off = arbiter->is_off;
        arbiter->gpus[free] = gpu;
        return free;
}

/* By which all tenants' time slices are made longer: no user has that to say beside a container. Among users alone the
 * most that one says counts, which makes them longer for nobody who told the truth. */
static void gpu_describe(struct gpu *gpu, const struct tenant *tenant, unsigned device)
{
        const struct gpu_grant *grant = &tenant->grants->devices[device];
        const uint64_t bytes = grant->device_bytes, bytes_per_s = grant->swap_bytes_per_s;
        struct timeslices *timeslices = &gpu->timeslices;

        if (gpu->is_described && (tenant->is_foreign || timeslices->device_bytes))
                return;
        const bool is_first = !tenant->is_foreign && !gpu->is_described;
        if (is_first || bytes > timeslices->device_bytes)
                timeslices->device_bytes = bytes;
        if (is_first || bytes_per_s > timeslices->swap_bytes_per_s)
                timeslices->swap_bytes_per_s = bytes_per_s;
        gpu->is_described |= !tenant->is_foreign;
}

/* A GPU that nobody shares any more is forgotten. */
static void gpu_leave(struct arbiter *arbiter, int index, int id)
{
        struct gpu *gpu = arbiter->gpus[index];

        timeslices_remove(&gpu->timeslices, id, clock_now_ns());
        for (int i = 0; i < gpu->timeslices.high; i++)
                if (gpu->timeslices.tenants[i].state != TIMESLICES_ABSENT)
                        return;
        munmap(gpu, sizeof *gpu);
        arbiter->gpus[index] = NULL;
}

/* Whoever was there before us may have let it in: it drains before the first time slice. */
static bool device_join(struct arbiter *arbiter, struct tenant *tenant, unsigned device)
{
        int gpu = gpu_find(arbiter, tenant->machine, tenant->devices[device].uuid);

        tenant->devices[device].gpu = -1;
        if (gpu < 0)
                gpu = gpu_make(arbiter, tenant, device);
        if (gpu < 0)
                return false;
        const int id = timeslices_add(&arbiter->gpus[gpu]->timeslices,
                                      &tenant->devices[device].limits, true, clock_now_ns());
        if (id < 0)
                return false;
        gpu_describe(arbiter->gpus[gpu], tenant, device);
        tenant->devices[device].gpu = gpu;
        tenant->devices[device].id = id;
        tenant->devices[device].number_base -= arbiter->gpus[gpu]->timeslices.tenants[id].number;
        tenant_counts(tenant, device, &arbiter->gpus[gpu]->timeslices.tenants[id]);
        return true;
}

static void tenant_drop(struct arbiter *arbiter, int index)
{
        struct tenant *tenant = arbiter->tenants[index];

        arbiter->tenants[index] = NULL;
        arbiter->are_weights_new = true;
        for (unsigned i = 0; i < tenant->device_count; i++)
                if (tenant->devices[i].gpu >= 0)
                        gpu_leave(arbiter, tenant->devices[i].gpu, tenant->devices[i].id);
        tenant_let_go(tenant);
        tenant_close(tenant);
        free(tenant);
}

void arbiter_free(struct arbiter *arbiter)
{
        if (!arbiter)
                return;
        for (int i = 0; i < arbiter->high; i++)
                if (arbiter->tenants[i])
                        tenant_drop(arbiter, i);
        free(arbiter);
}

static int tenant_find(const struct arbiter *arbiter, const char *share_path)
{
        for (int i = 0; i < arbiter->high; i++)
                if (arbiter->tenants[i] && strcmp(arbiter->tenants[i]->path, share_path) == 0)
                        return i;
        return -1;
}

void arbiter_remove(struct arbiter *arbiter, const char *share_path)
{
        const int index = tenant_find(arbiter, share_path);

        if (index >= 0)
                tenant_drop(arbiter, index);
}

int arbiter_add(struct arbiter *arbiter, const char *share_path, struct err *e)
{
        int index = tenant_find(arbiter, share_path);

        if (index >= 0 && !tenant_is_stale(arbiter->tenants[index]))
                return 0;
        if (index >= 0)
                tenant_drop(arbiter, index);
        index = 0;
        while (index < TENANTS && arbiter->tenants[index])
                index++;
        if (index == TENANTS)
                return err_set(e, -EUSERS, "more than %d containers share the GPUs", TENANTS);
        autofree struct tenant *tenant = calloc(1, sizeof *tenant);
        if (!tenant)
                return err_set(e, -ENOMEM, "out of memory");
        int r = tenant_open(share_path, tenant, e);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < tenant->device_count; i++)
                if (!device_join(arbiter, tenant, i))
                        r = err_set(e, -EUSERS, "more than %d containers share GPU %.47s",
                                    TIMESLICES_TENANTS, tenant->devices[i].uuid);
        arbiter->tenants[index] = steal(tenant);
        arbiter->are_weights_new = true;
        arbiter->high = index >= arbiter->high ? index + 1 : arbiter->high;
        return r;
}

void arbiter_sweep(struct arbiter *arbiter, bool (*is_gone)(const char *share_path, void *user),
                   void *user)
{
        for (int i = 0; i < arbiter->high; i++)
                if (arbiter->tenants[i] && is_gone(arbiter->tenants[i]->path, user))
                        tenant_drop(arbiter, i);
}

void arbiter_set_off(struct arbiter *arbiter, bool is_off)
{
        arbiter->is_off = is_off;
        for (int i = 0; i < GPUS; i++)
                if (arbiter->gpus[i])
                        arbiter->gpus[i]->timeslices.is_off = is_off;
}

bool arbiter_finds_mps(void)
{
        const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
        char path[SHARE_TEXT];

        snprintf(path, sizeof path, "%.200s/control",
                 folder && *folder ? folder : "/tmp/nvidia-mps");
        return access(path, F_OK) == 0;
}

void arbiter_observe(struct arbiter *arbiter, const char *share_path, unsigned device,
                     uint64_t unreported_ns)
{
        const int index = tenant_find(arbiter, share_path);

        if (index >= 0 && device < arbiter->tenants[index]->device_count)
                arbiter->tenants[index]->devices[device].unreported_ns = unreported_ns;
}

void arbiter_trim(struct arbiter *arbiter)
{
        for (int i = 0; i < arbiter->high; i++)
                if (arbiter->tenants[i])
                        tenant_trim(arbiter->tenants[i]);
}

static uint32_t weight_sum(const struct arbiter *arbiter, const struct tenant *of, int gpu)
{
        uint32_t sum = 0;

        for (int i = 0; i < arbiter->high; i++) {
                const struct tenant *tenant = arbiter->tenants[i];

                if (!tenant || tenant->owner != of->owner)
                        continue;
                for (unsigned j = 0; j < tenant->device_count; j++)
                        if (tenant->devices[j].gpu == gpu)
                                sum += tenant->devices[j].limits.weight;
        }
        return sum;
}

static void weights_sum(struct arbiter *arbiter)
{
        for (int i = 0; i < arbiter->high; i++) {
                struct tenant *tenant = arbiter->tenants[i];

                for (unsigned j = 0; tenant && tenant->is_foreign && j < tenant->device_count; j++)
                        tenant->devices[j].weight_sum =
                                weight_sum(arbiter, tenant, tenant->devices[j].gpu);
        }
}

static void limits_read(struct arbiter *arbiter)
{
        for (int i = 0; i < arbiter->high; i++)
                if (arbiter->tenants[i] && tenant_limits_refresh(arbiter->tenants[i]))
                        arbiter->are_weights_new = true;
        if (arbiter->are_weights_new)
                weights_sum(arbiter);
        arbiter->are_weights_new = false;
}

/* The doorbell first: a later change rings it again. */
static void read_all(struct arbiter *arbiter, uint64_t now_ns)
{
        struct timeslices_limits limits;
        struct timeslices_report report;

        for (int i = 0; i < arbiter->high; i++)
                if (arbiter->tenants[i])
                        arbiter->tenants[i]->bell_seen =
                                atomic_load(&arbiter->tenants[i]->wants->bell);
        limits_read(arbiter);
        for (int i = 0; i < arbiter->high; i++) {
                struct tenant *tenant = arbiter->tenants[i];

                if (!tenant)
                        continue;
                tenant_charges_refresh(tenant, now_ns);
                for (unsigned j = 0; j < tenant->device_count; j++) {
                        if (tenant->devices[j].gpu < 0)
                                continue;
                        struct timeslices *timeslices =
                                &arbiter->gpus[tenant->devices[j].gpu]->timeslices;
                        limits = tenant_limits(tenant, j);
                        timeslices_limit(timeslices, tenant->devices[j].id, &limits);
                        tenant_report(tenant, j, &report);
                        timeslices_report(timeslices, tenant->devices[j].id, &report);
                }
        }
}

static uint64_t step_all(struct arbiter *arbiter, uint64_t now_ns)
{
        uint64_t until_ns = TIMESLICES_NEVER;

        for (int i = 0; i < GPUS; i++) {
                if (!arbiter->gpus[i])
                        continue;
                struct timeslices *timeslices = &arbiter->gpus[i]->timeslices;
                uint64_t timer_ns = timeslices_step(timeslices, now_ns);
                if (timeslices_is_contended(timeslices) && timer_ns > now_ns + GPU_BEAT_NS)
                        timer_ns = now_ns + GPU_BEAT_NS;
                until_ns = timer_ns < until_ns ? timer_ns : until_ns;
        }
        return until_ns;
}

/* A tenant without a limit needs time slices only where another has a limit, or memory is short. */
static void timeslices_request(const struct arbiter *arbiter)
{
        for (int i = 0; i < arbiter->high; i++) {
                struct tenant *tenant = arbiter->tenants[i];
                bool are_needed = false;

                for (unsigned j = 0; tenant && j < tenant->device_count; j++)
                        if (tenant->devices[j].gpu >= 0)
                                are_needed |= timeslices_are_needed(
                                        &arbiter->gpus[tenant->devices[j].gpu]->timeslices);
                if (tenant)
                        share_set_timeslices(&tenant->share, are_needed);
        }
}

/* Tenants that lose the GPU are told before the one that gets it. */
static bool tell_all(struct arbiter *arbiter, uint64_t now_ns, bool is_open)
{
        bool has_changed = false;

        for (int i = 0; i < arbiter->high; i++) {
                struct tenant *tenant = arbiter->tenants[i];

                for (unsigned j = 0; tenant && j < tenant->device_count; j++) {
                        if (tenant->devices[j].gpu < 0)
                                continue;
                        const struct timeslices *timeslices =
                                &arbiter->gpus[tenant->devices[j].gpu]->timeslices;
                        const struct timeslices_grant decided =
                                timeslices_grant(timeslices, tenant->devices[j].id);
                        if (decided.is_open != is_open)
                                continue;
                        tenant_beat(tenant, j, timeslices, now_ns);
                        has_changed |= tenant_tell(tenant, j, &decided);
                }
        }
        return has_changed;
}

/* When one of the tenants is to be read again, though nothing changes. */
static uint64_t charges_due_ns(const struct arbiter *arbiter)
{
        uint64_t due_ns = TIMESLICES_NEVER;

        for (int i = 0; i < arbiter->high; i++) {
                const uint64_t one_ns = arbiter->tenants[i]
                                                ? tenant_charges_due_ns(arbiter->tenants[i])
                                                : TIMESLICES_NEVER;

                due_ns = one_ns < due_ns ? one_ns : due_ns;
        }
        return due_ns;
}

uint64_t arbiter_step(struct arbiter *arbiter)
{
        uint64_t until_ns = TIMESLICES_NEVER;
        bool has_changed = true;

        for (int i = 0; i < REPEATS && has_changed; i++) {
                const uint64_t now_ns = clock_now_ns();

                read_all(arbiter, now_ns);
                until_ns = step_all(arbiter, now_ns);
                timeslices_request(arbiter);
                has_changed = tell_all(arbiter, now_ns, false);
                has_changed |= tell_all(arbiter, now_ns, true);
        }
        if (has_changed)
                return clock_now_ns();
        const uint64_t due_ns = charges_due_ns(arbiter);
        return due_ns < until_ns ? due_ns : until_ns;
}

void arbiter_wait(struct arbiter *arbiter, uint64_t until_ns, uint32_t members_seen)
{
        struct futex_entry entries[FUTEX_SET_MOST];
        unsigned count = 0;

        entries[count++] = (struct futex_entry){ arbiter->members, members_seen };
        for (int i = 0; i < arbiter->high; i++)
                if (arbiter->tenants[i])
                        entries[count++] = (struct futex_entry){ &arbiter->tenants[i]->wants->bell,
                                                                 arbiter->tenants[i]->bell_seen };
        futex_set_wait(entries, count, until_ns);
}
