/* SPDX-License-Identifier: Apache-2.0 */
/* gpm: performance counters between two samples; Hopper and later. */
#include <pthread.h>
#include <stdlib.h>

#include "load.h"
#include "scope.h"
#include "timeline.h"

enum { GPM_VERSION = 1, GPM_METRIC_MAX = 333 };

struct nvmlGpmSample_st {
        struct nvmlGpmSample_st *next;
        uint64_t time_ns; /* 0: not taken yet */
        uint64_t busy_ns[ENGINE_COUNT];
        uint64_t in_bytes_per_s, out_bytes_per_s;
};

/* All samples there are, so that a wrong handle is recognised. */
static struct {
        pthread_mutex_t lock;
        struct nvmlGpmSample_st *first;
} gpm = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct nvmlGpmSample_st **link_of(nvmlGpmSample_t sample)
{
        struct nvmlGpmSample_st **link = &gpm.first;

        while (*link && *link != sample)
                link = &(*link)->next;
        return link;
}

static bool is_sample(nvmlGpmSample_t sample)
{
        autounlock pthread_mutex_t *held = scope_lock(&gpm.lock);

        return *link_of(sample) != NULL;
}

static nvmlReturn_t target_with_gpm(nvmlDevice_t device, const void *answer, struct target *ret)
{
        nvmlReturn_t r = target_any(device, answer, ret);

        return r == NVML_SUCCESS && ret->gpu->architecture < NVML_DEVICE_ARCH_HOPPER
                       ? NVML_ERROR_NOT_SUPPORTED
                       : r;
}

nvmlReturn_t sim_nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
        struct target t;
        nvmlReturn_t r = target_any(device, support, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (support->version != GPM_VERSION)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        support->isSupportedDevice = t.gpu->architecture >= NVML_DEVICE_ARCH_HOPPER;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t device, unsigned int *state)
{
        struct target t;
        nvmlReturn_t r = target_with_gpm(device, state, &t);

        if (r == NVML_SUCCESS)
                *state = 0;
        return r;
}

nvmlReturn_t sim_nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
        struct nvmlGpmSample_st *made;

        if (!sample)
                return NVML_ERROR_INVALID_ARGUMENT;
        made = calloc(1, sizeof *made);
        if (!made)
                return NVML_ERROR_MEMORY;
        autounlock pthread_mutex_t *held = scope_lock(&gpm.lock);
        made->next = gpm.first;
        gpm.first = made;
        *sample = made;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
        autounlock pthread_mutex_t *held = scope_lock(&gpm.lock);
        struct nvmlGpmSample_st **link = link_of(sample);

        if (!sample || !*link)
                return NVML_ERROR_INVALID_ARGUMENT;
        *link = sample->next;
        free(sample);
        return NVML_SUCCESS;
}

static void take(const struct target *t, unsigned unit, nvmlGpmSample_t sample)
{
        timeline_advance(t->machine, unit);
        sample->time_ns = machine_now_ns(t->machine);
        sample->in_bytes_per_s = t->gpu->in_bytes_per_s;
        sample->out_bytes_per_s = t->gpu->out_bytes_per_s;
        for (unsigned i = 0; i < ENGINE_COUNT; i++)
                sample->busy_ns[i] = machine_unit(t->machine, unit)->engines[i].busy_ns;
}

nvmlReturn_t sim_nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
        struct target t;
        nvmlReturn_t r = target_with_gpm(device, sample, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!is_sample(sample))
                return NVML_ERROR_INVALID_ARGUMENT;
        take(&t, t.unit, sample);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int instance_id,
                                     nvmlGpmSample_t sample)
{
        struct target t;
        nvmlReturn_t r = target_with_gpm(device, sample, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!is_sample(sample))
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < TARGET_INSTANCES; i++)
                if (machine_mig_is_used(&t.gpu->instances[i].is_used) &&
                    t.gpu->instances[i].id == instance_id) {
                        take(&t, t.gpu->instances[i].unit, sample);
                        return NVML_SUCCESS;
                }
        return NVML_ERROR_NOT_FOUND;
}

static double percent_between(nvmlGpmSample_t a, nvmlGpmSample_t b, enum machine_engine engine)
{
        double span = (double)(b->time_ns - a->time_ns);
        double busy = (double)(b->busy_ns[engine] - a->busy_ns[engine]);

        return busy >= span ? 100 : busy / span * 100;
}

/* What the machine can tell; the rest of the counters are not simulated. */
static bool metric(unsigned id, nvmlGpmSample_t a, nvmlGpmSample_t b, double *ret_value)
{
        double compute = percent_between(a, b, ENGINE_COMPUTE);

        switch (id) {
        case 1: /* graphics */
        case 2: /* multiprocessors */
                *ret_value = compute;
                return true;
        case 3: /* occupancy */
                *ret_value = compute * 0.5;
                return true;
        case 10: /* memory bandwidth */
                *ret_value = compute * 0.4;
                return true;
        case 20: /* PCIe, MiB/s: sent, received */
                *ret_value = percent_between(a, b, ENGINE_OUT) / 100 * (double)b->out_bytes_per_s /
                             0x1p20;
                return true;
        case 21:
                *ret_value =
                        percent_between(a, b, ENGINE_IN) / 100 * (double)b->in_bytes_per_s / 0x1p20;
                return true;
        default:
                *ret_value = 0; /* tensor, video, NVLink … have no work here */
                return id >= 4 && id < 100;
        }
}

nvmlReturn_t sim_nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
        if (!get || !is_sample(get->sample1) || !is_sample(get->sample2))
                return NVML_ERROR_INVALID_ARGUMENT;
        if (get->version != GPM_VERSION)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (get->numMetrics == 0 || get->numMetrics > GPM_METRIC_MAX || !get->sample1->time_ns ||
            get->sample2->time_ns <= get->sample1->time_ns)
                return NVML_ERROR_INVALID_ARGUMENT;
        for (unsigned i = 0; i < get->numMetrics; i++) {
                nvmlGpmMetric_t *m = &get->metrics[i];
                bool is_known = metric(m->metricId, get->sample1, get->sample2, &m->value);
                m->nvmlReturn = is_known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        }
        return NVML_SUCCESS;
}
